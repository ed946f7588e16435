package clustermanager

import (
	"encoding/json"
	"errors"
	"testing"
)

func TestReadingRoundTrip(t *testing.T) {
	for _, reading := range []Reading[[]string]{Known([]string{"a"}), Known([]string{}), Unknown[[]string]("forbidden"), Read[[]string](nil, Refuse("no")), {}} {
		data, err := json.Marshal(reading)
		if err != nil {
			t.Fatal(err)
		}
		var back Reading[[]string]
		if err := json.Unmarshal(data, &back); err != nil {
			t.Fatalf("%s: %v", data, err)
		}
		value, known := reading.Get()
		backValue, backKnown := back.Get()
		if known != backKnown || len(value) != len(backValue) || reading.Reason() != back.Reason() ||
			ReasonOf(reading.Err()) != ReasonOf(back.Err()) {
			t.Errorf("%s came back as known %t %v %q", data, backKnown, backValue, back.Reason())
		}
	}
	if data, _ := json.Marshal(Known[*int](nil)); string(data) != `{"value":null}` {
		t.Errorf("a known nil reads %s", data)
	}
	var back Reading[*int]
	if err := json.Unmarshal([]byte(`{"value":null}`), &back); err != nil {
		t.Fatal(err)
	}
	if _, known := back.Get(); !known {
		t.Error("a known nil came back as unknown")
	}
}

func TestAReadingKeepsTheClassOfItsError(t *testing.T) {
	for want, err := range map[Reason]error{
		"": nil, ReasonRefused: Refuse("no"), ReasonNotFound: &NotFound{What: "Cluster wc1"}, ReasonError: errors.New("timeout"),
	} {
		reading := Read("value", err)
		if value, known := reading.Get(); known != (err == nil) || known != (value == "value") || ReasonOf(reading.Err()) != want {
			t.Errorf("%v: %q, known %t, class %q", err, value, known, ReasonOf(reading.Err()))
		}
	}
	if err := (Reading[string]{}).Err(); err == nil || err.Error() != "not read" {
		t.Errorf("the zero Reading: %v", err)
	}
}
