package managed

import (
	"encoding/json"
	"flag"
	"os"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
)

var update = flag.Bool("update", false, "write the golden files")

// referenceRow is a row of the reference's input tables, as testdata/inputs.tsv has them.
type referenceRow struct {
	field, kind, required, constraints string
}

// reference reads the rows of the seven input tables, by method.
func reference(t *testing.T) map[string][]referenceRow {
	t.Helper()
	data, err := os.ReadFile("testdata/inputs.tsv")
	if err != nil {
		t.Fatal(err)
	}
	rows, method := map[string][]referenceRow{}, ""
	for line := range strings.Lines(string(data)) {
		line = strings.TrimSuffix(line, "\n")
		if name, heading := strings.CutPrefix(line, "# "); heading {
			method = name
			continue
		}
		cells := strings.Split(line, "\t")
		rows[method] = append(rows[method], referenceRow{cells[0], cells[1], cells[2], cells[3]})
	}
	return rows
}

// cells are the rows of a Markdown table without heading and code marks.
func cells(text string) [][]string {
	var rows [][]string
	for line := range strings.Lines(text) {
		row := strings.Split(strings.ReplaceAll(strings.Trim(line, "|\n"), "`", ""), "|")
		for i := range row {
			row[i] = strings.TrimSpace(row[i])
		}
		rows = append(rows, row)
	}
	return rows[2:]
}

func TestS03TheTablesAreTheReferences(t *testing.T) {
	t.Parallel()
	data, err := os.ReadFile("testdata/methods.tsv")
	if err != nil {
		t.Fatal(err)
	}
	var want [][]string
	for line := range strings.Lines(string(data)) {
		row := strings.Split(strings.TrimSuffix(line, "\n"), "\t")
		row[0] = "[" + row[0] + "](#" + row[0] + ")"
		want = append(want, row)
	}
	equal(t, "methods", want, cells(MethodTable()))

	rows := reference(t)
	for _, method := range Methods() {
		var want [][]string
		for _, row := range rows[method.Name] {
			want = append(want, []string{row.field, row.kind, row.required, row.constraints})
		}
		equal(t, method.String(), want, cells(method.InputTable()))
		equal(t, "path", "/api/compute/kubernetesClusters/"+method.Name, method.Path())
	}
	equal(t, "methods in the table", len(rows), len(Methods()))
}

func TestEveryMethodHasAnActionOfItsOwnKind(t *testing.T) {
	t.Parallel()
	for _, method := range Methods() {
		if !slices.Contains(Actions(), method.Action) {
			t.Errorf("%s has action %q", method, method.Action)
		}
		if (method.Kind == Read) != (method.Action == ActionRead) {
			t.Errorf("%s is a %s of %s", method, method.Kind, method.Action)
		}
	}
}

// samples are words for a pattern of the reference: right ones at its limits, and wrong ones.
var samples = map[string]struct{ right, wrong []string }{
	`^[A-Za-z0-9._:-]{1,128}$`: {
		[]string{"a", strings.Repeat("A", 128), "a.b_c:d-9"}, []string{"", "a b", "a/b", "ä", "a\n"},
	},
	`^[a-z]([-a-z0-9]{0,38}[a-z0-9])?$`: {
		[]string{"a", strings.Repeat("a", 40), "a-1"}, []string{"", "A", "1a", "a-", "a_b"},
	},
	`^[a-z][a-z0-9-]{1,38}[a-z0-9]$`: {
		[]string{"abc", strings.Repeat("a", 40), "europe-west1-b"}, []string{"", "ab", "Europe-West1", "1ab", "ab-"},
	},
	`^[0-9]{1,3}\.[0-9]{1,3}(\.[0-9]{1,3})?(-[a-z0-9.]{1,40})?$`: {
		[]string{"1.33", "1.33.5", "1.33.5-gke.1162000", "1.33.5-" + strings.Repeat("a", 40)},
		[]string{"", "v1.33", "1", "latest", "1.33.5-" + strings.Repeat("a", 41), "1.33.5.6"},
	},
	`^[a-z0-9][a-z0-9.-]{0,62}$`: {
		[]string{"a", strings.Repeat("a", 63), "n1-standard.4"}, []string{"", "N1", "-a"},
	},
	`^[a-z][a-z0-9-]{1,40}$`: {
		[]string{"ab", strings.Repeat("a", 41), "pd-ssd"}, []string{"", "p", "PD", strings.Repeat("a", 42)},
	},
	`^[a-z0-9][a-z0-9-]{0,62}$`: {
		[]string{"a", strings.Repeat("a", 63), "nvidia-l4"}, []string{"", "Nvidia", strings.Repeat("a", 64)},
	},
}

func init() {
	for _, prefix := range []string{"prj_", "pool_", "net_", "kcl_"} {
		samples["^"+prefix+"[0-9a-hjkmnp-tv-z]{26,52}$"] = struct{ right, wrong []string }{
			[]string{prefix + strings.Repeat("0", 26), prefix + strings.Repeat("z", 52)},
			[]string{"", prefix + strings.Repeat("0", 25), prefix + strings.Repeat("i", 26), "xyz_" + strings.Repeat("0", 26)},
		}
	}
}

// whole are bodies with every field, all of them right.
func whole(t *testing.T, method string) map[string]any {
	t.Helper()
	body := map[string]any{
		"tenantId": "acme", "projectId": "prj_" + strings.Repeat("0", 26), "poolId": poolP, "name": "one", "mode": "standard",
		"location": "europe-west1-b", "releaseChannel": "rapid", "version": "1.33", "networkId": networkN1,
		"authorizedNetworks": []any{"10.0.0.0/8"}, "privateNodes": true, "description": "d", "idempotencyKey": "k",
		"clusterId": "kcl_" + strings.Repeat("0", 26), "role": "edit", "ttlSeconds": 600, "includeDeleted": true,
		"nodePools": []any{map[string]any{
			"name": "a", "machineType": "e2-standard-4", "nodeCount": 1, "diskGiB": 100, "diskType": "pd-ssd", "spot": true,
			"autoscaling":  map[string]any{"minNodes": 0, "maxNodes": 3},
			"accelerators": map[string]any{"type": "nvidia-l4", "count": 1},
			"zones":        []any{"europe-west1-b"}, "labels": map[string]any{"a": "b"},
			"taints": []any{map[string]any{"key": "k", "value": "v", "effect": "NoSchedule"}},
		}},
	}
	named := map[string]bool{}
	for _, row := range reference(t)[method] {
		named[strings.FieldsFunc(row.field, func(r rune) bool { return r == '.' || r == '[' })[0]] = true
	}
	for name := range body {
		if !named[name] {
			delete(body, name)
		}
	}
	return body
}

// set writes a value at a path such as nodePools[].taints[].key; absent takes it away.
func set(body map[string]any, path string, value any) {
	steps := strings.Split(path, ".")
	for _, step := range steps[:len(steps)-1] {
		name, list := strings.CutSuffix(step, "[]")
		inner := body[name]
		if list {
			inner = inner.([]any)[0]
		}
		body = inner.(map[string]any)
	}
	last := steps[len(steps)-1]
	if value == absent {
		delete(body, last)
		return
	}
	body[last] = value
}

type nothing struct{}

var absent = nothing{}

// tries are the values of a row: right ones at each limit, wrong ones beyond it.
func (r referenceRow) tries(t *testing.T) (right, wrong []any) {
	t.Helper()
	if words, enum := strings.CutPrefix(r.kind, "one of "); enum {
		for _, word := range strings.Split(words, ", ") {
			right = append(right, word)
			wrong = append(wrong, strings.ToUpper(word), "")
		}
	}
	wrong = append(wrong, map[string][]any{
		"string": {5, true, []any{}, map[string]any{}}, "integer": {"1", 1.5, true, 1e300, []any{}}, "boolean": {"true", 1, []any{}},
		"object": {"x", 5, []any{}}, "list of string": {"x", map[string]any{}, 5}, "list of object": {map[string]any{}, "x"},
		"map of string": {[]any{}, "x", 5},
	}[r.kind]...)
	if r.required == "yes" {
		wrong = append(wrong, absent, nil)
	} else {
		right = append(right, absent, nil)
	}
	for bound := range strings.SplitSeq(r.constraints, "; ") {
		some, others := r.bound(t, bound)
		right, wrong = append(right, some...), append(wrong, others...)
	}
	return right, wrong
}

var numberRange = regexp.MustCompile(`^(\d+)-(\d+)( items)?$`)

func (r referenceRow) bound(t *testing.T, bound string) (right, wrong []any) {
	t.Helper()
	pattern, matches := strings.CutPrefix(bound, "matches ")
	most, length := strings.CutPrefix(bound, "at most ")
	numbers := numberRange.FindStringSubmatch(bound)
	switch {
	case bound == "" || strings.HasPrefix(bound, "default "):
	case matches:
		words, known := samples[pattern]
		if !known {
			t.Fatalf("no samples for %s", pattern)
		}
		for _, word := range words.right {
			right = append(right, word)
		}
		for _, word := range words.wrong {
			wrong = append(wrong, word)
		}
	case length:
		count, err := strconv.Atoi(strings.TrimSuffix(most, " characters"))
		if err != nil {
			t.Fatal(err)
		}
		wrong = append(wrong, strings.Repeat("a", count+1))
		// Free text counts characters, not bytes.
		if !strings.Contains(r.constraints, "matches") {
			right = append(right, strings.Repeat("ä", count))
			wrong = append(wrong, strings.Repeat("ä", count+1))
		}
	case numbers != nil && numbers[3] == "":
		least, _ := strconv.Atoi(numbers[1])
		most, _ := strconv.Atoi(numbers[2])
		right, wrong = append(right, least, most), append(wrong, least-1, most+1)
	case numbers != nil:
		most, _ := strconv.Atoi(numbers[2])
		right, wrong = append(right, []any{}, r.items(most)), append(wrong, r.items(most+1))
	default:
		t.Fatalf("bound %q", bound)
	}
	return right, wrong
}

func (r referenceRow) items(count int) []any {
	var items []any
	for i := range count {
		item := any("europe-west1-" + strconv.Itoa(i))
		switch {
		case strings.HasSuffix(r.field, "taints"):
			item = map[string]any{"key": "k", "effect": "NoSchedule"}
		case strings.HasSuffix(r.field, "nodePools"):
			item = map[string]any{"name": "a" + strconv.Itoa(i), "machineType": "m", "nodeCount": 1}
		}
		items = append(items, item)
	}
	return items
}

func TestS04EveryBoundOfTheReference(t *testing.T) {
	t.Parallel()
	tried := 0
	for _, method := range Methods() {
		for _, row := range reference(t)[method.Name] {
			right, wrong := row.tries(t)
			at := strings.ReplaceAll(row.field, "[]", "[0]")
			try := func(value any, want bool) {
				t.Helper()
				body := whole(t, method.Name)
				set(body, row.field, value)
				data, err := json.Marshal(body)
				if err != nil {
					t.Fatal(err)
				}
				faults, err := CheckShape(method, data)
				if err != nil {
					t.Fatal(err)
				}
				tried++
				faulty := slices.ContainsFunc(faults, func(fault FieldFault) bool { return fault.Field == at })
				if faulty != want || !want && len(faults) > 0 {
					t.Errorf("%s: %s = %v: faults %v, want one: %t", method, row.field, value, faults, want)
				}
			}
			for _, value := range right {
				try(value, false)
			}
			for _, value := range wrong {
				try(value, true)
			}
		}
	}
	if tried < 500 {
		t.Errorf("%d values tried", tried)
	}
}

func TestOpenAPIDescribesEveryMethod(t *testing.T) {
	t.Parallel()
	data, err := json.Marshal(OpenAPI("1.2.3"))
	if err != nil {
		t.Fatal(err)
	}
	var document struct {
		OpenAPI string
		Paths   map[string]struct {
			Post struct {
				RequestBody struct {
					Content map[string]struct{ Schema struct{ Required []string } }
				}
				Responses map[string]struct{ Description string }
			}
		}
	}
	if err := json.Unmarshal(data, &document); err != nil {
		t.Fatal(err)
	}
	equal(t, "openapi", "3.1.0", document.OpenAPI)
	equal(t, "paths", len(Methods()), len(document.Paths))
	create := document.Paths["/api/compute/kubernetesClusters/create"].Post
	equal(t, "required", []string{"tenantId", "poolId", "name", "mode", "location", "idempotencyKey"},
		create.RequestBody.Content["application/json"].Schema.Required)
	equal(t, "409", "CONFLICT, INVALID_STATE", create.Responses["409"].Description)
}

// TestTheReference holds the generated reference; run with -update to write it.
func TestTheReference(t *testing.T) {
	t.Parallel()
	const golden = "testdata/reference.md"
	if *update {
		if err := os.WriteFile(golden, []byte(Reference()), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(golden)
	if err != nil {
		t.Fatal(err)
	}
	equal(t, "reference", string(want), Reference())
}
