package survey

import (
	"context"
	"encoding/base64"
	"fmt"
	"maps"
	"slices"
	"strings"

	"golang.org/x/sync/errgroup"
	apierrors "k8s.io/apimachinery/pkg/api/errors"

	clustermanager "github.com/clustermanager/cluster-manager"
)

// unreadable ends the reason of a source that only the caller cannot read.
const unreadable = ": you may not read it"

// substitute reads what postBuild.substituteFrom names into the target's Variables, as Flux layers them: a later source
// above an earlier one. What the caller may not read, and a source that should be there and is not, is named in
// UnreadSubstitutes.
func (r *Reader) substitute(ctx context.Context, namespace string, target *clustermanager.Target) error {
	sources := mapsAt(target.Spec, "postBuild", "substituteFrom")
	if len(sources) == 0 {
		return nil
	}
	read := make([]map[string]clustermanager.Secret, len(sources))
	unread := make([]string, len(sources))
	var reads errgroup.Group
	for index, source := range sources {
		reads.Go(func() error {
			read[index], unread[index] = r.substitutesOf(ctx, namespace, source)
			return nil
		})
	}
	_ = reads.Wait()
	target.Variables = map[string]clustermanager.Secret{}
	for index := range sources {
		maps.Copy(target.Variables, read[index])
		if unread[index] == "" {
			continue
		}
		target.UnreadSubstitutes = append(target.UnreadSubstitutes, unread[index])
		if !strings.HasSuffix(unread[index], unreadable) {
			target.Warnings = append(target.Warnings, fmt.Sprintf("Kustomization %s: postBuild.substituteFrom names %s: a merge has no effect until that is mended", target.Kustomization, unread[index]))
		}
	}
	return ctx.Err()
}

// substitutesOf returns a source's variables, or why they are not known as "Kind name: reason".
func (r *Reader) substitutesOf(ctx context.Context, namespace string, source map[string]any) (variables map[string]clustermanager.Secret, unread string) {
	kind, name := textAt(source, "kind"), textAt(source, "name")
	of := configMapNoun
	switch kind {
	case secretNoun.kind:
		of = secretNoun
	case configMapNoun.kind:
	default:
		return nil, kind + " " + name + ": no kind that Flux substitutes from"
	}
	object, err := r.get(ctx, of, namespace, name)
	switch {
	case apierrors.IsNotFound(err) && isTrueAt(source, "optional"):
		return nil, ""
	case apierrors.IsNotFound(err):
		return nil, kind + " " + name + ": it does not exist"
	case apierrors.IsForbidden(err):
		return nil, kind + " " + name + unreadable
	case err != nil:
		return nil, kind + " " + name + ": " + err.Error()
	}
	variables = map[string]clustermanager.Secret{}
	for _, key := range slices.Sorted(maps.Keys(mapAt(object.Object, "data"))) {
		value := textAt(object.Object, "data", key)
		if of == secretNoun {
			decoded, err := base64.StdEncoding.DecodeString(value)
			if err != nil {
				return nil, kind + " " + name + ": the value of key " + key + " is not base64"
			}
			value = string(decoded)
		}
		variables[key] = clustermanager.NewSecret(value)
	}
	return variables, ""
}
