package survey

import (
	"context"
	"errors"
	"slices"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// errNoCore says that what answers is no API server: each serves the core API.
var errNoCore = errors.New("it answers 404 to the core API: it is no Kubernetes API server, or its address has a wrong path")

// unserved decides on an answer that something was not found: nil says that the API server does not hold or not serve
// it, an error that what answered is no API server.
func (r *Reader) unserved(ctx context.Context, of noun, what string, err error) error {
	switch {
	case ofObject(err):
		return nil
	case of.resource.Group == "":
		return r.noCore(what)
	}
	r.mu.Lock()
	first := r.core
	r.mu.Unlock()
	switch {
	case first != nil:
		<-first.done
		err = first.err
	case r.where != "":
		_, err = r.list(ctx, claimNoun, r.options.Settings.ServingNamespace, metav1.ListOptions{})
	}
	if errors.Is(err, errNoCore) {
		return err
	}
	return nil
}

// begin notes the first read of the core API, which tells of every other one whether an API server answers; the
// function that it returns ends the read.
func (r *Reader) begin(of noun) func(error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if of.resource.Group != "" || r.core != nil {
		return func(error) {}
	}
	first := newRemembered[struct{}]()
	r.core = first
	return func(err error) {
		first.err = err
		close(first.done)
	}
}

// notGot is the error of an object that could not be got.
func (r *Reader) notGot(ctx context.Context, of noun, what string, err error) error {
	if apierrors.IsNotFound(err) {
		if err := r.unserved(ctx, of, what, err); err != nil {
			return err
		}
	}
	return r.failed(ctx, what, err)
}

// noCore is errNoCore of the cluster that is read.
func (r *Reader) noCore(what string) error {
	if r.where == "" {
		return &readError{what, errNoCore}
	}
	return &clusterError{r.cluster() + ": reading it: " + errNoCore.Error(), errNoCore}
}

// ofObject says whether an API server itself says that an object does not exist, rather than that nothing is served at
// the address.
func ofObject(err error) bool {
	var status apierrors.APIStatus
	if !errors.As(err, &status) {
		return false
	}
	details := status.Status().Details
	return details != nil && details.Name != "" && !slices.ContainsFunc(details.Causes, func(cause metav1.StatusCause) bool {
		return cause.Type == metav1.CauseTypeUnexpectedServerResponse
	})
}
