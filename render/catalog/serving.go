package catalog

import (
	"slices"

	"github.com/Masterminds/semver/v3"
)

// OperatorChart are the facts of the GPU operator's chart.
type OperatorChart struct {
	// URL is the chart's OCI address without a tag.
	URL string `json:"url"`
	// Range is what every release of it follows.
	Range string `json:"range"`
}

// Source is where every release of the GPU operator gets the chart.
func (c OperatorChart) Source() Source { return Source{URL: c.URL, Range: c.Range} }

// GPUOperator are the facts of the GPU operator's chart.
func GPUOperator() OperatorChart { return loaded().GPUOperator }

// RuntimeImages are the two sets of images that serve models.
type RuntimeImages struct {
	// Fast and Slim are the prefixes of the images; Fast is the chart's own.
	Fast string `json:"fast"`
	Slim string `json:"slim"`
	// SlimAccelerators are those that the slim set serves.
	SlimAccelerators []string `json:"slimAccelerators"`
}

// Runtime are the two sets of images that serve models.
func Runtime() RuntimeImages {
	images := loaded().Runtime
	images.SlimAccelerators = slices.Clone(images.SlimAccelerators)
	return images
}

// modelManager is the part of the data about model-manager.
type modelManager struct {
	BackendKeys map[string]Gate `json:"backendKeys"`
}

// BackendTakes says whether the model-manager of the version parses a key of a backend document's instances. A version
// that is not known, or that is no version, takes no key that the table names; a key that it does not name is always
// taken.
func BackendTakes(version, key string) bool {
	gate, gated := loaded().ModelManager.BackendKeys[key]
	if !gated {
		return true
	}
	parsed, err := semver.NewVersion(version)
	return err == nil && gate.holds(parsed)
}
