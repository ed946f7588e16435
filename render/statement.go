package render

import (
	"bytes"
	"errors"
	"io"
	"slices"
	"strings"
	"unicode"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/kustomize/api/konfig"
	kyaml "sigs.k8s.io/kustomize/kyaml/yaml"

	clustermanager "github.com/clustermanager/cluster-manager"
)

const secretSuffix = "-secret.enc.yaml"

// statement is what the plan says of one file.
type statement struct {
	secret bool
	// objects are what the file is to hold; of a Secret's file the one Secret, and plain is its text before sealing.
	objects []*unstructured.Unstructured
	plain   clustermanager.Secret
	// known are the identities that the plan ensures or removes.
	known []clustermanager.ObjectReference
}

// removes says that nothing of the file is left.
func (s *statement) removes() bool { return len(s.objects) == 0 }

// statements sorts the plan's declared steps into files, by file name.
func statements(plan clustermanager.Plan, target clustermanager.Target) (map[string]*statement, error) {
	stated := map[string]*statement{}
	for _, verb := range []clustermanager.Verb{clustermanager.Ensure, clustermanager.Remove} {
		for _, step := range declared(plan, verb) {
			name, err := fileName(step.Reference())
			if err != nil {
				return nil, err
			}
			if stated[name] == nil {
				stated[name] = &statement{secret: isSecret(step.Reference())}
			}
			stated[name].known = append(stated[name].known, step.Reference().Identity())
			if verb == clustermanager.Ensure {
				if err := stated[name].ensure(step, target); err != nil {
					return nil, err
				}
			}
		}
	}
	return stated, nil
}

func (s *statement) ensure(step clustermanager.Step, target clustermanager.Target) (err error) {
	if s.secret && len(s.objects) > 0 {
		return clustermanager.Refuse("%s and %s would share one sealed file, which holds one Secret: give one of them another name",
			clustermanager.ReferenceTo(s.objects[0]), step.Reference())
	}
	s.objects = append(s.objects, inFile(step, target))
	if s.secret {
		s.plain, err = revealed(step, target)
	}
	return err
}

// fileName is the file of an object. Names are checked here, whoever made them: none leaves the directory or takes the
// place of a file with a meaning of its own.
func fileName(reference clustermanager.ObjectReference) (string, error) {
	name := reference.Name
	if name == "" || strings.HasPrefix(name, ".") || strings.Contains(name, "..") || strings.ContainsAny(name, `/\`) ||
		strings.ContainsFunc(name, unicode.IsControl) {
		return "", clustermanager.Refuse("%s %q: the name cannot be a file's name: use another name", reference.Kind, name)
	}
	if isSecret(reference) {
		return name + secretSuffix, nil
	}
	file := name + ".yaml"
	if kustomizationNames[file] || strings.HasSuffix(file, secretSuffix) {
		return "", clustermanager.Refuse("%s: its file would be %s, which has another meaning: use another name", reference, file)
	}
	return file, nil
}

// kustomizationNames are the names that kustomize takes for a kustomization file.
var kustomizationNames = func() map[string]bool {
	names := map[string]bool{}
	for _, name := range konfig.RecognizedKustomizationFileNames() {
		names[name] = true
	}
	return names
}()

// file is what the statement makes of the file at path, whose content is before (nil: absent).
func (s *statement) file(before []byte, path string) (clustermanager.File, error) {
	switch {
	case s.secret && s.removes():
		return clustermanager.File{Sensitive: true, Delete: true}, nil
	case s.secret:
		return clustermanager.File{Sensitive: true, Plain: s.plain}, nil
	}
	if err := s.refuseForeign(before, path); err != nil {
		return clustermanager.File{}, err
	}
	if s.removes() {
		return clustermanager.File{Delete: true}, nil
	}
	content, err := YAML(s.objects...)
	return clustermanager.File{Content: content}, err
}

// refuseForeign refuses a file that holds something of which the plan says nothing.
func (s *statement) refuseForeign(content []byte, file string) error {
	decoder := kyaml.NewDecoder(bytes.NewReader(content))
	for {
		var document kyaml.Node
		err := decoder.Decode(&document)
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err == nil && isEmpty(document.Content[0]) {
			continue
		}
		reference, isObject := referenceIn(&document)
		foreign := err == nil && isObject && !slices.Contains(s.known, reference.Identity())
		switch {
		case (err != nil || !isObject) && s.removes():
			return clustermanager.Refuse("%s holds something else than Kubernetes objects, so it is not removed: remove that file by hand", file)
		case err != nil || !isObject:
			return clustermanager.Refuse("%s holds something else than Kubernetes objects, so it is not overwritten: rename that file", file)
		case foreign && s.removes():
			return clustermanager.Refuse("%s holds %s, which cluster-manager did not write there, so it is not removed: if it is to go, remove it from the repository by hand", file, reference)
		case foreign:
			return clustermanager.Refuse("%s holds %s, which is not of this plan, so it is not overwritten: move that object to a file of another name", file, reference)
		}
	}
}

// referenceIn names the object of a document.
func referenceIn(document *kyaml.Node) (clustermanager.ObjectReference, bool) {
	var object struct {
		APIVersion string `yaml:"apiVersion"`
		Kind       string `yaml:"kind"`
		Metadata   struct {
			Name      string `yaml:"name"`
			Namespace string `yaml:"namespace"`
		} `yaml:"metadata"`
	}
	err := document.Decode(&object)
	return clustermanager.ObjectReference{
		APIVersion: object.APIVersion, Kind: object.Kind,
		Namespace: object.Metadata.Namespace, Name: object.Metadata.Name,
	}, err == nil && object.APIVersion != "" && object.Kind != ""
}
