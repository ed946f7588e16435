package settings

import (
	"encoding/json"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"time"
)

// Form is what a setting's value must look like. As text it is the word for the value in a command's help.
type Form string

const (
	Text     Form = "string"
	Boolean  Form = "bool"
	Number   Form = "number"
	Duration Form = "duration"
	// List is a list of texts with commas between them; a file may have it as a list.
	List Form = "list"
	// Path names a file. In a file of settings it is relative to that file.
	Path Form = "path"
)

// plain returns a file's value as the command line would give it, or what the form wants.
func (f Form) plain(value any) (string, error) {
	if elements, is := value.([]any); is && f == List {
		var texts []string
		for _, element := range elements {
			plain, err := Text.plain(element)
			if err != nil {
				return "", err
			}
			texts = append(texts, plain)
		}
		return strings.Join(texts, ","), nil
	}
	switch value := value.(type) {
	case string:
		return value, nil
	case bool, json.Number:
		return fmt.Sprint(value), nil
	}
	return "", errors.New("wants one value")
}

func (f Form) check(plain string) error {
	switch f {
	case Boolean:
		if _, err := strconv.ParseBool(plain); err != nil {
			return fmt.Errorf("%q is neither true nor false", plain)
		}
	case Number:
		if _, err := strconv.Atoi(plain); err != nil {
			return fmt.Errorf("%q is no whole number", plain)
		}
	case Duration:
		if value, err := time.ParseDuration(plain); err != nil || value < 0 {
			return fmt.Errorf("%q is no duration such as 9s", plain)
		}
	}
	return nil
}

// elements are those of a list, without white space around them and empty ones.
func elements(list string) []string {
	var found []string
	for element := range strings.SplitSeq(list, ",") {
		if element = strings.TrimSpace(element); element != "" {
			found = append(found, element)
		}
	}
	return found
}
