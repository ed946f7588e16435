package compose

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	clustermanager "github.com/clustermanager/cluster-manager"
	"github.com/clustermanager/cluster-manager/render/catalog"
)

// runtimeImages are the slim set of the images that serve models.
type runtimeImages struct {
	registry string
	// main is the image of each serving configuration, prepull what nodes pull ahead.
	main    map[string]string
	prepull []string
}

// Where the slice's chart names its images.
var (
	registryPath = []string{"kserve-runtime-configs", "kserve", "llmisvcConfigs", "imageRegistry"}
	imagesPath   = []string{"kserve-runtime-configs", "kserve", "llmisvcConfigs", "images"}
	prepullPath  = []string{"modelServing", "prepull", "images"}
)

// chooseRuntime takes the slim images where every GPU pool has an accelerator that they serve. They are read from the
// chart at the slice's version; another version's, or the other set, would not fit.
func (s *slice) chooseRuntime() error {
	if !s.slimPools() || !s.survey.Serving.Charts.Asked() {
		return nil
	}
	charts, err := s.charts()
	if err == nil {
		var values map[string]any
		if values, err = valueOf(charts.Values); err == nil {
			s.runtime, err = slimImages(values)
		}
	}
	if err != nil {
		return clustermanager.Refuse("chart %s %s: the slim serving images, which cluster %s's GPU pools take, could not be read: %v; see to that, then call again",
			clustermanager.ChartAgentPlatform, s.chart.Version, s.survey.Cluster.Name, err)
	}
	return nil
}

// slimPools says whether there is a pool and every one has an accelerator that the slim images serve.
func (s *slice) slimPools() bool {
	slim := catalog.Runtime().SlimAccelerators
	return len(s.pools) > 0 && !slices.ContainsFunc(s.pools, func(pool gpuPool) bool { return !slices.Contains(slim, pool.accelerator) })
}

// charts are what the registry holds for the slice's version, and an error for any other.
func (s *slice) charts() (clustermanager.SliceCharts, error) {
	charts, known := s.survey.Serving.Charts.Get()
	switch {
	case !s.survey.Serving.Charts.Asked():
		return charts, errors.New("this server reads no chart registry")
	case !known:
		return charts, s.survey.Serving.Charts.Err()
	case charts.Version != s.chart.Version:
		return charts, fmt.Errorf("version %s was read and the slice is at %s", charts.Version, s.chart.Version)
	}
	return charts, nil
}

// slimImages are the twins of the chart's images.
func slimImages(values map[string]any) (*runtimeImages, error) {
	sets := catalog.Runtime()
	registry, _ := lookup(values, registryPath...).(string)
	if registry != sets.Fast {
		return nil, fmt.Errorf("%s is %q and not %q, which alone has a slim twin", strings.Join(registryPath, "."), registry, sets.Fast)
	}
	configs, _ := lookup(values, imagesPath...).(map[string]any)
	slim := &runtimeImages{registry: sets.Slim, main: map[string]string{}}
	for config := range configs {
		if image, _ := lookup(configs, config, "main").(string); image != "" {
			slim.main[config] = slimTwin(sets, image)
		}
	}
	if len(slim.main) == 0 {
		return nil, errors.New(strings.Join(imagesPath, ".") + " names no image")
	}
	prepull, err := imageList(lookup(values, prepullPath...))
	if err != nil {
		return nil, fmt.Errorf("%s %w", strings.Join(prepullPath, "."), err)
	}
	for _, image := range prepull {
		slim.prepull = append(slim.prepull, slimTwin(sets, image))
	}
	return slim, nil
}

// slimTwin moves an image of the fast set; any other stays.
func slimTwin(sets catalog.RuntimeImages, image string) string {
	if name, fast := strings.CutPrefix(image, sets.Fast); fast {
		return sets.Slim + name
	}
	return image
}

// imageList is a list of image references; nil is an empty one.
func imageList(value any) ([]string, error) {
	entries, isList := value.([]any)
	if !isList && value != nil {
		return nil, errNoList
	}
	var images []string
	for _, entry := range entries {
		image, isText := entry.(string)
		if !isText || image == "" {
			return nil, errors.New("has an entry that names no image")
		}
		images = append(images, image)
	}
	return images, nil
}

func (s *slice) setRuntime(values map[string]any) {
	if s.runtime == nil {
		return
	}
	set(values, s.runtime.registry, registryPath...)
	for config, image := range s.runtime.main {
		set(values, image, append(slices.Clone(imagesPath), config, "main")...)
	}
	if len(s.runtime.prepull) > 0 {
		set(values, anyList(s.runtime.prepull), prepullPath...)
	}
}

// prefetchKey is the key of a pool's values that takes images to pull ahead.
const prefetchKey = "pool.prefetchImages"

// decidePrefetch lets a pool's nodes pull the serving images before anything asks for them. What cannot be read leaves
// them out, with a note.
func (d *decision) decidePrefetch() error {
	if d.slice == nil {
		return nil
	}
	images, err := d.slice.prepullImages()
	since := d.chart.Since(prefetchKey)
	switch {
	case err != nil:
		d.prefetchNote = "no image is pulled ahead on the pool's nodes: " + err.Error()
	case len(images) == 0:
		d.prefetchNote = "no image is pulled ahead on the pool's nodes: serving there pulls none ahead"
	case catalog.Before(d.source.Version(), since):
		d.prefetchNote = fmt.Sprintf("no image is pulled ahead on the pool's nodes: chart %s takes %s from %s on, and %s is asked for", clustermanager.ChartGPUNodePool, prefetchKey, since, d.source.Version())
	default:
		d.prefetch = images
	}
	return nil
}

// prepullImages are the images that serving on the target pulls ahead.
func (s *slice) prepullImages() ([]string, error) {
	switch {
	case !s.composed:
		return valueOf(s.survey.Serving.PrepullImages)
	case s.runtime != nil:
		return s.runtime.prepull, nil
	}
	connectivity, err := s.connectivity()
	if err != nil {
		return nil, err
	}
	enabled, isSet := lookup(connectivity.Values, "modelServing", "prepull", "enabled").(bool)
	switch {
	case !isSet:
		return nil, fmt.Errorf("chart agent-platform-connectivity %s: reading modelServing.prepull.enabled: it is no boolean", connectivity.Version)
	case !enabled:
		return nil, nil
	}
	images, err := imageList(lookup(connectivity.Values, prepullPath...))
	if err != nil {
		return nil, fmt.Errorf("chart agent-platform-connectivity %s: reading %s: it %w", connectivity.Version, strings.Join(prepullPath, "."), err)
	}
	return images, nil
}

// connectivity is the chart of the component agent-platform-connectivity at the slice's version.
func (s *slice) connectivity() (clustermanager.ConnectivityChart, error) {
	charts, err := s.charts()
	if err != nil {
		return clustermanager.ConnectivityChart{}, err
	}
	return valueOf(charts.Connectivity)
}
