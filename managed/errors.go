package managed

import (
	"errors"
	"fmt"
	"strings"
	"time"
)

// Code is the class of an error as a caller reads it.
type Code string

const (
	InvalidInput    Code = "INVALID_INPUT"
	Unauthenticated Code = "UNAUTHENTICATED"
	AccessDenied    Code = "ACCESS_DENIED"
	NotFound        Code = "NOT_FOUND"
	Conflict        Code = "CONFLICT"
	InvalidState    Code = "INVALID_STATE"
	Unsupported     Code = "UNSUPPORTED"
	QuotaExceeded   Code = "QUOTA_EXCEEDED"
	RateLimited     Code = "RATE_LIMITED"
	Unavailable     Code = "UNAVAILABLE"
	Internal        Code = "INTERNAL"
)

// statuses are the HTTP statuses of the codes.
var statuses = map[Code]int{
	InvalidInput: 400, Unauthenticated: 401, AccessDenied: 403, NotFound: 404, Conflict: 409, InvalidState: 409,
	Unsupported: 422, QuotaExceeded: 429, RateLimited: 429, Unavailable: 503, Internal: 500,
}

// Status is the HTTP status of the code; 500 for one that is not in the table.
func (c Code) Status() int {
	if status, known := statuses[c]; known {
		return status
	}
	return statuses[Internal]
}

// Reasons that details carry beside ACCESS_DENIED and QUOTA_EXCEEDED.
const (
	ReasonOfferSuspended = "offer-suspended"
	ReasonRegionExcluded = "region-excluded"
	ReasonReadOnly       = "read-only"
	ReasonBudgetUsedUp   = "budget-used-up"
)

// Error is a call's refusal as the caller gets it. It never holds a value of the caller's input, a token or a
// credential; what failed inside stands in the log, found by RequestID.
type Error struct {
	Code Code `json:"code"`
	// Message names the object first and ends with a way out.
	Message string  `json:"message"`
	Details Details `json:"details"`
	// RetryAfter goes out as the header Retry-After, beside RATE_LIMITED.
	RetryAfter time.Duration `json:"-"`
}

// Details are what a program reads of an error. Only what the code has is there.
type Details struct {
	Fields       []FieldFault `json:"fields,omitempty"`
	Zones        []string     `json:"zones,omitempty"`
	Regions      []string     `json:"regions,omitempty"`
	Action       Action       `json:"action,omitempty"`
	ResourceType ResourceType `json:"resourceType,omitempty"`
	Reason       string       `json:"reason,omitempty"`
	Field        string       `json:"field,omitempty"`
	State        State        `json:"state,omitempty"`
	Repository   string       `json:"repository,omitempty"`
	Path         string       `json:"path,omitempty"`
	Network      string       `json:"network,omitempty"`
	Region       string       `json:"region,omitempty"`
	Provider     string       `json:"provider,omitempty"`
	Limit        int          `json:"limit,omitempty"`
	RequestID    string       `json:"requestId,omitempty"`
}

// FieldFault is what is wrong with one field: the first of its faults.
type FieldFault struct {
	// Field is the path as the reference writes it, with an index: nodePools[0].name. Empty: the whole body.
	Field   string `json:"field"`
	Message string `json:"message"`
}

// Envelope is the body of every answer that is an error.
type Envelope struct {
	Error *Error `json:"error"`
}

// Error is the message.
func (e *Error) Error() string { return e.Message }

// Fault makes an error without details.
func Fault(code Code, format string, arguments ...any) *Error {
	return &Error{Code: code, Message: fmt.Sprintf(format, arguments...)}
}

// With is the error with details.
func (e *Error) With(details Details) *Error {
	e.Details = details
	return e
}

// CodeOf is the code of an error: "" for nil, INTERNAL for one that is no [Error].
func CodeOf(err error) Code {
	var fault *Error
	switch {
	case err == nil:
		return ""
	case errors.As(err, &fault):
		return fault.Code
	}
	return Internal
}

// Faulty is INVALID_INPUT with all faults, nil without one. Of two faults of a field the first stands.
func Faulty(object string, faults []FieldFault) error {
	var kept []FieldFault
	var names []string
	seen := map[string]bool{}
	for _, fault := range faults {
		if seen[fault.Field] {
			continue
		}
		seen[fault.Field] = true
		kept = append(kept, fault)
		names = append(names, strings.TrimSpace(fault.Field+" "+fault.Message))
	}
	if len(kept) == 0 {
		return nil
	}
	return Fault(InvalidInput, "%s: %s: correct the input and call again", object, strings.Join(names, "; ")).
		With(Details{Fields: kept})
}

// Denied is ACCESS_DENIED of a decision. It tells the action and the kind of resource, and nothing of what is there.
func Denied(action Action, resource ResourceType) *Error {
	return Fault(AccessDenied, "%s: %s is not allowed to you here: ask the tenant's operator for the right", resource, action).
		With(Details{Action: action, ResourceType: resource})
}
