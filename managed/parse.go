package managed

import (
	"bytes"
	"encoding/json"
	"errors"
	"io"
)

// maxDepth is how deep a body may nest; the deepest input has five levels.
const maxDepth = 16

// object is a JSON object in the order in which it was written.
type object struct {
	names  []string
	values map[string]any
	// doubled are the names that stand there more than once.
	doubled []string
}

var (
	errMalformed = errors.New("the body must be one JSON object")
	errTooDeep   = errors.New("the body nests too deep")
)

// parse reads one JSON value and nothing behind it. Objects keep their order and their doubled names.
func parse(body []byte) (any, error) {
	decoder := json.NewDecoder(bytes.NewReader(body))
	decoder.UseNumber()
	value, err := parseValue(decoder, 0)
	if err != nil {
		return nil, err
	}
	if _, err := decoder.Token(); !errors.Is(err, io.EOF) {
		return nil, errMalformed
	}
	return value, nil
}

func parseValue(decoder *json.Decoder, depth int) (any, error) {
	token, err := decoder.Token()
	if err != nil {
		return nil, errMalformed
	}
	switch {
	case depth > maxDepth:
		return nil, errTooDeep
	case token == json.Delim('{'):
		return parseObject(decoder, depth)
	case token == json.Delim('['):
		return parseList(decoder, depth)
	}
	return token, nil
}

func parseObject(decoder *json.Decoder, depth int) (*object, error) {
	of := &object{values: map[string]any{}}
	for decoder.More() {
		token, err := decoder.Token()
		name, is := token.(string)
		if err != nil || !is {
			return nil, errMalformed
		}
		value, err := parseValue(decoder, depth+1)
		if err != nil {
			return nil, err
		}
		if _, twice := of.values[name]; twice {
			of.doubled = append(of.doubled, name)
			continue
		}
		of.names = append(of.names, name)
		of.values[name] = value
	}
	if _, err := decoder.Token(); err != nil {
		return nil, errMalformed
	}
	return of, nil
}

func parseList(decoder *json.Decoder, depth int) ([]any, error) {
	list := []any{}
	for decoder.More() {
		value, err := parseValue(decoder, depth+1)
		if err != nil {
			return nil, err
		}
		list = append(list, value)
	}
	if _, err := decoder.Token(); err != nil {
		return nil, errMalformed
	}
	return list, nil
}
