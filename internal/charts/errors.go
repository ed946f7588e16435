package charts

import (
	"context"
	"errors"
	"fmt"
	"net/http"

	clustermanager "github.com/clustermanager/cluster-manager"
)

// maxCauseLength cuts what a registry answers with.
const maxCauseLength = 300

// UnpublishedError says that a registry answered and does not have the chart, or not this version of it.
type UnpublishedError struct {
	// URL is the chart's OCI address without a tag.
	URL string
	// Version is the one asked for; "": there is no such chart.
	Version string
}

// Error is one sentence.
func (e *UnpublishedError) Error() string {
	if e.Version == "" {
		return fmt.Sprintf("chart %s: the registry has no such chart", e.URL)
	}
	return fmt.Sprintf("chart %s: version %s is not published in the registry", e.URL, e.Version)
}

// reading names what is read, for its errors.
type reading struct{ url, version, step string }

// failed is the error of the step. The causes that a reader can act on have a sentence of their own.
func (r reading) failed(cause error) error {
	what := "chart " + r.url
	if r.version != "" {
		what += " " + r.version
	}
	var answered statusError
	switch {
	case errors.As(cause, &answered) && int(answered) == http.StatusNotFound && r.step != readingArchive:
		return &UnpublishedError{URL: r.url, Version: r.version}
	case errors.As(cause, &answered) && (int(answered) == http.StatusUnauthorized || int(answered) == http.StatusForbidden):
		return fmt.Errorf("%s: %s: the registry lets no anonymous reader in (%w)", what, r.step, answered)
	case errors.As(cause, &answered):
		return fmt.Errorf("%s: %s: the registry answered with %w", what, r.step, answered)
	case errors.Is(cause, context.DeadlineExceeded):
		return fmt.Errorf("%s: %s: the registry does not answer in time: %w", what, r.step, context.DeadlineExceeded)
	case errors.Is(cause, context.Canceled):
		return fmt.Errorf("%s: %s: %w", what, r.step, context.Canceled)
	}
	if reason := unanswered(cause); reason != nil {
		return fmt.Errorf("%s: %s: the registry does not answer: %w", what, r.step, reason)
	}
	return fmt.Errorf("%s: %s: %s", what, r.step, clustermanager.OneLine(cause.Error(), maxCauseLength))
}

// statusError is the status of an answer that is no success.
type statusError int

// Error names the status.
func (e statusError) Error() string { return fmt.Sprintf("status %d", int(e)) }
