package main

import (
	"bytes"
	"encoding/csv"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

const header = "kind,region,aws_location,item,unit,usd,as_of\n"

func list(t *testing.T) string {
	t.Helper()
	text, err := os.ReadFile(filepath.Join("testdata", "list.json"))
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

func TestAListIsParsed(t *testing.T) {
	got, err := parse(strings.NewReader(list(t)))
	want := offer{
		location: "EU (Frankfurt)",
		hours:    map[string]string{"g6.xlarge": "1.007", "g4dn.metal": "10", "m5.large": "0.115"},
		figures:  map[string]string{"gp3_storage": "0.0953", "gp3_throughput_above_125MiBps": "0.0477", "gp3_iops_above_3000": "0.006"},
	}
	if diff := cmp.Diff(want, got, cmp.AllowUnexported(offer{})); err != nil || diff != "" {
		t.Errorf("%v\n%s", err, diff)
	}
}

func TestListsThatDoNotFit(t *testing.T) {
	good := list(t)
	replaced := func(old, with string) string {
		if !strings.Contains(good, old) {
			t.Fatalf("the list has no %s", old)
		}
		return strings.Replace(good, old, with, 1)
	}
	products, terms, _ := strings.Cut(good, `"terms"`)
	for name, test := range map[string]struct{ list, want string }{
		"empty":             {"", "an object is missing"},
		"cut":               {good[:len(good)/2], "unexpected EOF"},
		"no terms":          {strings.TrimRight(products, " \n,") + "}", "it has no on-demand terms"},
		"terms first":       {`{"terms"` + strings.TrimSuffix(terms, "}\n") + ", " + strings.TrimPrefix(strings.TrimRight(products, " \n,"), "{") + "}", "its terms stand before its products"},
		"no such unit":      {replaced(`"GiBps-mo"`, `"TiBps-mo"`), `product GP3T (gp3_throughput_above_125MiBps): "48.8448000000" USD for "TiBps-mo" is no price that the table can hold`},
		"a volume by hours": {replaced(`"GB-Mo"`, `"Hrs"`), "product GP3 (gp3_storage)"},
		"no price":          {replaced(`"1.0070000000"`, `"free"`), `product L4XL (g6.xlarge): "free" USD`},
		"free of charge":    {replaced(`"1.0070000000"`, `"0.0000000000"`), "product L4XL"},
		"two prices":        {replaced(`{"L4XL.J.6":`, `{"L4XL.J.5": {"unit": "Hrs", "pricePerUnit": {"USD": "1"}}, "L4XL.J.6":`), "product L4XL (g6.xlarge): it has not exactly one price"},
		"two products":      {replaced(`"Windows", "tenancy": "Shared", "preInstalledSw": "NA", "capacitystatus": "Used", "operation": "RunInstances:0002"`, `"Linux", "tenancy": "Shared", "preInstalledSw": "NA", "capacitystatus": "Used", "operation": "RunInstances"`), "the list has a second price of g6.xlarge"},
	} {
		if _, err := parse(strings.NewReader(test.list)); err == nil || !strings.Contains(err.Error(), test.want) {
			t.Errorf("%s: got %v, want %s", name, err, test.want)
		}
	}
}

func TestTheTableIsRefreshed(t *testing.T) {
	server := httptest.NewServer(http.StripPrefix("/lists/eu-central-1/index.json", http.HandlerFunc(func(writer http.ResponseWriter, _ *http.Request) {
		_, _ = writer.Write([]byte(list(t)))
	})))
	defer server.Close()
	file := filepath.Join(t.TempDir(), "prices.csv")
	old := header + "ec2_on_demand_linux,eu-central-1,EU (Frankfurt),g6.xlarge,USD/hour,1,2026-01-01\n" +
		"ec2_on_demand_linux,eu-central-1,EU (Frankfurt),g6.2xlarge,USD/hour,2,2026-01-01\n"
	if err := os.WriteFile(file, []byte(old), 0o600); err != nil {
		t.Fatal(err)
	}
	var report bytes.Buffer
	if err := refresh(t.Context(), server.URL+"/lists", "2026-11-30", []string{file}, &report); err != nil {
		t.Fatal(err)
	}
	got, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	want := header + `ec2_on_demand_linux,eu-central-1,EU (Frankfurt),g4dn.metal,USD/hour,10,2026-11-30
ec2_on_demand_linux,eu-central-1,EU (Frankfurt),g6.xlarge,USD/hour,1.007,2026-11-30
ebs_gp3,eu-central-1,EU (Frankfurt),gp3_storage,USD/GiB-month,0.0953,2026-11-30
ebs_gp3,eu-central-1,EU (Frankfurt),gp3_throughput_above_125MiBps,USD/(MiB/s)-month,0.0477,2026-11-30
ebs_gp3,eu-central-1,EU (Frankfurt),gp3_iops_above_3000,USD/IOPS-month,0.006,2026-11-30
`
	if diff := cmp.Diff(want, string(got)); diff != "" {
		t.Error(diff)
	}
	if !strings.Contains(report.String(), "no longer on the list: ec2_on_demand_linux eu-central-1 g6.2xlarge\n") {
		t.Errorf("report %s", &report)
	}
	// A list that is not there leaves the table as it is.
	if err := refresh(t.Context(), server.URL+"/none", "2026-12-01", []string{file}, &report); err == nil || !strings.Contains(err.Error(), "price list of eu-central-1: fetching") {
		t.Errorf("got %v", err)
	}
	if after, err := os.ReadFile(file); err != nil || !bytes.Equal(after, got) {
		t.Errorf("the table changed: %v", err)
	}
}

// The generator's rows are those of the committed table, in its order, whatever the prices are.
func TestTheCommittedTableHasThisForm(t *testing.T) {
	table, err := readTable(filepath.Join("..", "..", "render", "catalog", "data", "prices.csv"))
	if err != nil {
		t.Fatal(err)
	}
	offers := map[string]offer{}
	for _, row := range table.old {
		of, there := offers[row[regionColumn]]
		if !there {
			of = offer{location: row[2], hours: map[string]string{}, figures: map[string]string{}}
		}
		if row[kindColumn] == "ebs_gp3" {
			of.figures[row[itemColumn]] = row[5]
		} else {
			of.hours[row[itemColumn]] = row[5]
		}
		offers[row[regionColumn]] = of
	}
	rows, err := table.rows(offers, "2026-09-19")
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(table.old, rows[1:]); diff != "" {
		t.Errorf("-committed +generated:\n%s", diff)
	}
	var text strings.Builder
	if err := csv.NewWriter(&text).WriteAll(rows); err != nil || !strings.HasPrefix(text.String(), header) {
		t.Errorf("%v, header %.50s", err, text.String())
	}
}
