package main

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

const output = `goos: linux
cpu: A Processor
BenchmarkSeal/recipients=1/way=ours-2         	     100	   1000000 ns/op	  20 allocs/op
BenchmarkSeal/recipients=1/way=sops-2         	       3	  16000000 ns/op	  41840640 peak-bytes
BenchmarkSeal/recipients=1/way=ours#01-2      	     100	   3000000 ns/op	  20 allocs/op
BenchmarkSeal/recipients=1/way=sops#01-2      	       3	  90000000 ns/op	  41840640 peak-bytes
BenchmarkSeal/recipients=1/way=ours#02-2      	     100	   1100000 ns/op	  22 allocs/op
BenchmarkSeal/recipients=1/way=sops#02-2      	       3	  15400000 ns/op	  41840640 peak-bytes
BenchmarkSeal/recipients=20/way=ours-2        	      10	   7000000 ns/op
BenchmarkOther-2                              	      10	   1.5 ns/op
PASS
ok  	example.com/seal	5.745s
?   	example.com/none	[no test files]
`

func TestReport(t *testing.T) {
	read, err := read(strings.NewReader(output))
	if err != nil {
		t.Fatal(err)
	}
	page := markdown(read, "2026-01-02", "a machine")
	for _, want := range []string{
		"# Measured on 2026-01-02\n\na machine.\n",
		"\n| workload | way | time | CPU | peak memory | allocated | allocations |\n| --- | --- | ---: | ---: | ---: | ---: | ---: |\n",
		"\n| recipients=1 | ours | 1.10 ms | – | – | – | 20 |\n| recipients=1 | sops | 16 ms | – | 39.9 MiB | – | – |\n| recipients=20 | ours | 7 ms | – | – | – | – |\n",
		"| the peer over ours, 1 recipient: ≥ 15 | 14.5 | **no** |\n",
		"| each further recipient, in ms: ≤ 0.25 | 0.31 | **no** |\n",
	} {
		if !strings.Contains(page, want) {
			t.Errorf("the page lacks %q:\n%s", want, page)
		}
	}
	if strings.Contains(page, "B2") || strings.Contains(page, "Other") {
		t.Errorf("the page tells of what was not measured:\n%s", page)
	}
	text := strings.Split(read.text.String(), "\n")
	if diff := cmp.Diff("BenchmarkSeal/recipients=1/way=ours-2\t100\t   3000000 ns/op\t  20 allocs/op", text[4]); diff != "" || len(text) != 11 {
		t.Errorf("%d lines, %s", len(text), diff)
	}
}

func TestVerdict(t *testing.T) {
	for _, test := range []struct {
		claim claim
		value float64
		want  string
	}{
		{claim{limit: 0.5}, 0.25, "0.25 | yes"},
		{claim{limit: 0.5}, 0.5, "0.50 | yes"},
		{claim{limit: 0.5}, 0.75, "0.75 | **no**"},
		{claim{limit: 0}, 0, "0 | yes"},
		{claim{limit: 15, least: true}, 15, "15 | yes"},
		{claim{limit: 15, least: true}, 1234.5, "1234 | yes"},
		{claim{limit: 15, least: true}, 14.99, "15.0 | **no**"},
	} {
		test.claim.value = func(*results) (float64, bool) { return test.value, true }
		if got := test.claim.verdict(nil); got != test.want {
			t.Errorf("%v, limit %v: %q, want %q", test.value, test.claim.limit, got, test.want)
		}
	}
	if got := tables[0].claims[0].verdict(&results{}); got != "– | not measured" {
		t.Error(got)
	}
}

func TestShown(t *testing.T) {
	for _, test := range []struct {
		value      float64
		unit, want string
	}{
		{89_399, "ns/op", "89.4 µs"}, {1_500_000, "cpu-ns/op", "1.50 ms"}, {2_500_000_000, "git-ns/op", "2.50 s"},
		{512, "B/op", "512 B"}, {10_522, "down-bytes/op", "10.3 KiB"}, {67_108_864, "peak-bytes", "64 MiB"}, {18, "git-requests/op", "18"},
	} {
		if got := shown(test.value, test.unit, true); got != test.want {
			t.Errorf("%v %s: %q, want %q", test.value, test.unit, got, test.want)
		}
	}
}
