package clustermanager

import (
	"strings"
	"testing"
)

func TestOneLine(t *testing.T) {
	for _, test := range []struct {
		text  string
		limit int
		want  string
	}{
		{"", 5, ""},
		{"a word", 6, "a word"},
		{"a word!", 6, "a wor…"},
		{"größer", 4, "grö…"},
		{" a\n\tb\r\n\u2028c\u00a0d ", 0, "a b c d"},
		{"red\x1b[31m\x00\u202eb\u200bc", 0, "red [31m b c"},
		{"broken\xff\xfeUTF-8", 0, "broken UTF-8"},
		{strings.Repeat("x", 9000), 0, strings.Repeat("x", 9000)},
		{"`code` <b> @you", 0, "`code` <b> @you"},
	} {
		if got := OneLine(test.text, test.limit); got != test.want {
			t.Errorf("OneLine(%q, %d) is %q, want %q", test.text, test.limit, got, test.want)
		}
	}
}

func TestIsLoopback(t *testing.T) {
	for host, want := range map[string]bool{
		"localhost": true, "127.0.0.1": true, "127.8.9.10": true, "::1": true, "0:0:0:0:0:0:0:1": true, "::ffff:127.0.0.1": true,
		"": false, "0.0.0.0": false, "::": false, "10.0.0.1": false, "169.254.169.254": false, "128.0.0.1": false, "fe80::1": false, "::2": false, "::1%eth0": false,
		"localhost.example.com": false, "127.0.0.1.example.com": false, "example.com": false, "LOCALHOST": false, "localhost.": false,
		"127.1": false, "2130706433": false, "0x7f000001": false, "0177.0.0.1": false, "127.0.0.1:80": false, "[::1]": false, "127.0.0.1\t": false,
	} {
		if got := IsLoopback(host); got != want {
			t.Errorf("IsLoopback(%q) is %t", host, got)
		}
	}
}
