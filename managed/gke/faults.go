package gke

import (
	"errors"
	"net/http"
	"slices"
	"strings"

	"google.golang.org/api/googleapi"

	"github.com/clustermanager/cluster-manager/managed"
)

// rule is a row of the table of the provider's errors.
type rule struct {
	// code, reasons and words are what an error must have; 0 and none: any. From 500 on a code stands for all above it.
	code    int
	reasons []string
	words   []string
	// except are the kinds of writes that the row is not for.
	except  []managed.WriteKind
	verdict managed.Verdict
}

// rules are what a write's error means; the first that fits. What fits none is refused.
//
// "Please wait" is what Rancher's operator goes by too; the second wording is the service's for a write that came between.
// What is not found is gone already, or not there yet: the next look tells; but a place that is not found takes no create.
var rules = []rule{
	{code: http.StatusBadRequest, words: []string{"Please wait and try again once it is done", "incompatible operation"}, verdict: managed.Later},
	{code: http.StatusForbidden, reasons: []string{"rateLimitExceeded", "userRateLimitExceeded"}, verdict: managed.Later},
	{code: http.StatusNotFound, except: []managed.WriteKind{managed.CreateCluster}, verdict: managed.Later},
	{code: http.StatusRequestTimeout, verdict: managed.Later},
	{code: http.StatusConflict, verdict: managed.Later},
	{code: http.StatusTooManyRequests, verdict: managed.Later},
	{code: http.StatusInternalServerError, verdict: managed.Later},
}

// judge is what the provider's answer to a write means, with its words when it is refused. A write that no answer came to
// may have been taken: the next look tells.
func judge(kind managed.WriteKind, err error) (verdict managed.Verdict, message string) {
	var of *googleapi.Error
	switch {
	case err == nil:
		return managed.Accepted, ""
	case !errors.As(err, &of):
		return managed.Later, ""
	}
	for _, row := range rules {
		if row.fits(kind, of) {
			return row.verdict, ""
		}
	}
	return managed.Refused, wordsOf(of)
}

func (r rule) fits(kind managed.WriteKind, of *googleapi.Error) bool {
	if of.Code != r.code && (r.code < http.StatusInternalServerError || of.Code < r.code) || slices.Contains(r.except, kind) {
		return false
	}
	reason := func(item googleapi.ErrorItem) bool { return slices.Contains(r.reasons, item.Reason) }
	word := func(word string) bool { return strings.Contains(of.Message, word) }
	return (r.reasons == nil || slices.ContainsFunc(of.Errors, reason)) && (r.words == nil || slices.ContainsFunc(r.words, word))
}

// longest is how much of the provider's words an answer has.
const longest = 1024

// wordsOf are the provider's words.
func wordsOf(of *googleapi.Error) string {
	if of.Message == "" {
		return "the provider answered " + http.StatusText(of.Code)
	}
	return shorten(of.Message)
}

func shorten(text string) string {
	if characters := []rune(text); len(characters) > longest {
		return string(characters[:longest]) + "…"
	}
	return text
}

func isNotFound(err error) bool {
	var of *googleapi.Error
	return errors.As(err, &of) && of.Code == http.StatusNotFound
}

// reason is why a read failed, of the provider's answers its own words.
func reason(err error) error {
	var of *googleapi.Error
	if errors.As(err, &of) {
		return errors.New(wordsOf(of))
	}
	return err
}
