package offline

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"reflect"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	utiljson "k8s.io/apimachinery/pkg/util/json"
	"k8s.io/apimachinery/pkg/util/validation"
	utilyaml "k8s.io/apimachinery/pkg/util/yaml"
	"sigs.k8s.io/yaml"

	clustermanager "github.com/clustermanager/cluster-manager"
)

// extensions are those of files that hold objects.
var extensions = []string{".yaml", ".yml", ".json"}

// readObjects reads the objects below the named folder of each root. A root's object replaces a later root's of the
// same identity.
func readObjects(roots []string, folder string) ([]*unstructured.Unstructured, []string) {
	var objects []*unstructured.Unstructured
	var faults []string
	seen := map[clustermanager.ObjectReference]bool{}
	for _, root := range roots {
		read, rootFaults := readFolder(filepath.Join(root, filepath.FromSlash(folder)))
		faults = append(faults, rootFaults...)
		for _, object := range read {
			if !seen[clustermanager.ReferenceTo(object).Identity()] {
				objects = append(objects, object)
			}
		}
		for _, object := range read {
			seen[clustermanager.ReferenceTo(object).Identity()] = true
		}
	}
	return objects, faults
}

// readFolder reads every file of objects, in any depth. An absent folder holds none. An object that stands twice with
// different content is a fault: nobody can say which is meant.
func readFolder(folder string) ([]*unstructured.Unstructured, []string) {
	if isAbsent(folder) {
		return nil, nil
	}
	var objects []*unstructured.Unstructured
	var faults []string
	files := map[clustermanager.ObjectReference]*unstructured.Unstructured{}
	err := fs.WalkDir(os.DirFS(folder), ".", func(name string, entry fs.DirEntry, err error) error {
		if err != nil || entry.IsDir() || !slices.Contains(extensions, path.Ext(name)) {
			return err
		}
		file := filepath.Join(folder, filepath.FromSlash(name))
		read, err := readFile(file)
		if err != nil {
			faults = append(faults, fmt.Sprintf("%s: %v", file, err))
		}
		for _, object := range read {
			reference := clustermanager.ReferenceTo(object)
			if before := files[reference.Identity()]; before != nil {
				if !reflect.DeepEqual(before.Object, object.Object) {
					faults = append(faults, fmt.Sprintf("%s: %s stands twice, with different content", file, reference))
				}
				continue
			}
			files[reference.Identity()] = object
			objects = append(objects, object)
		}
		return nil
	})
	if err != nil {
		faults = append(faults, fmt.Sprintf("%s: %v", folder, err))
	}
	return objects, faults
}

// readFile returns the objects of a file's documents, up to the first fault.
func readFile(name string) ([]*unstructured.Unstructured, error) {
	content, err := os.ReadFile(name)
	if err != nil {
		return nil, errors.Unwrap(err)
	}
	var objects []*unstructured.Unstructured
	documents := utilyaml.NewYAMLReader(bufio.NewReader(bytes.NewReader(content)))
	for number := 1; ; number++ {
		document, err := documents.Read()
		if errors.Is(err, io.EOF) {
			return objects, nil
		}
		if err != nil {
			return objects, fmt.Errorf("document %d: %w", number, err)
		}
		read, err := decode(document)
		if err != nil {
			return objects, fmt.Errorf("document %d: %w", number, err)
		}
		objects = append(objects, read...)
	}
}

// decode returns the object of a document, the items of a list, or nothing for an empty document.
func decode(document []byte) ([]*unstructured.Unstructured, error) {
	converted, err := yaml.YAMLToJSON(document)
	if err != nil {
		return nil, errors.New("no YAML")
	}
	if bytes.Equal(converted, []byte("null")) {
		return nil, nil
	}
	var content map[string]any
	if err := utiljson.Unmarshal(converted, &content); err != nil {
		return nil, errors.New("no mapping")
	}
	return unpack(&unstructured.Unstructured{Object: content})
}

// unpack returns the object, or the items of a list. An item of a typed list may leave out what the list tells.
func unpack(object *unstructured.Unstructured) ([]*unstructured.Unstructured, error) {
	element, isList := strings.CutSuffix(object.GetKind(), "List")
	items, hasItems := object.Object["items"].([]any)
	if isList && (hasItems || object.Object["items"] == nil) {
		return unpackItems(items, object.GetAPIVersion(), element)
	}
	if object.GetAPIVersion() == "" || object.GetKind() == "" || object.GetName() == "" {
		return nil, errors.New("no object: apiVersion, kind and metadata.name are needed")
	}
	return []*unstructured.Unstructured{object}, nil
}

func unpackItems(items []any, apiVersion, kind string) ([]*unstructured.Unstructured, error) {
	var objects []*unstructured.Unstructured
	for number, item := range items {
		content, is := item.(map[string]any)
		if !is {
			return nil, fmt.Errorf("item %d: no mapping", number+1)
		}
		object := &unstructured.Unstructured{Object: content}
		if kind != "" && object.GetKind() == "" {
			object.SetAPIVersion(apiVersion)
			object.SetKind(kind)
		}
		read, err := unpack(object)
		if err != nil {
			return nil, fmt.Errorf("item %d: %w", number+1, err)
		}
		objects = append(objects, read...)
	}
	return objects, nil
}

// clusterNames are the folders below clusters/ of the roots, sorted. A folder whose name no cluster can have is a fault.
func clusterNames(roots []string) (names, faults []string) {
	for _, root := range roots {
		folder := filepath.Join(root, "clusters")
		entries, err := os.ReadDir(folder)
		if err != nil && !errors.Is(err, fs.ErrNotExist) {
			faults = append(faults, fmt.Sprintf("%s: %v", folder, errors.Unwrap(err)))
		}
		for _, entry := range entries {
			switch {
			case !entry.IsDir() || slices.Contains(names, entry.Name()):
			case len(validation.IsDNS1123Subdomain(entry.Name())) > 0:
				faults = append(faults, fmt.Sprintf("%s: no name of a cluster", filepath.Join(folder, entry.Name())))
			default:
				names = append(names, entry.Name())
			}
		}
	}
	slices.Sort(names)
	return names, faults
}
