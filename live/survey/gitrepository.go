package survey

import (
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	clustermanager "github.com/clustermanager/cluster-manager"
)

const (
	// defaultBranch is what Flux follows when spec.ref names nothing.
	defaultBranch = "master"
	branchPrefix  = "refs/heads/"
)

// references are the fields of spec.ref in the order of their precedence in Flux: the first that is set is followed,
// whatever else is set.
var references = []string{"commit", "name", "semver", "tag", "branch"}

// repositoryOf is the repository that a GitRepository names, and the branch that Flux follows in it.
func (r *Reader) repositoryOf(source *unstructured.Unstructured) (clustermanager.GitRepository, error) {
	branch, err := branchOf(source)
	if err != nil {
		return clustermanager.GitRepository{}, err
	}
	repository, err := r.options.Resolve(textAt(source.Object, "spec", "url"))
	if err != nil {
		return clustermanager.GitRepository{}, clustermanager.Refuse("%s: its spec.url: %s", clustermanager.ReferenceTo(source), err)
	}
	repository.Source = clustermanager.NamespacedName{Namespace: source.GetNamespace(), Name: source.GetName()}
	repository.Branch = branch
	repository.Interval, _ = time.ParseDuration(textAt(source.Object, "spec", "interval"))
	repository.Suspended = isTrueAt(source.Object, "spec", "suspend")
	if ignore, set, _ := unstructured.NestedString(source.Object, "spec", "ignore"); set {
		repository.Ignore = &ignore
	}
	return repository, nil
}

// branchOf is the branch that a GitRepository follows. Following a commit, a tag or a range is refused: nothing that is
// merged into a branch would be seen.
func branchOf(source *unstructured.Unstructured) (string, error) {
	for _, field := range references {
		value := textAt(source.Object, "spec", "ref", field)
		if value == "" {
			continue
		}
		if field == "branch" {
			return value, nil
		}
		if branch, is := strings.CutPrefix(value, branchPrefix); is && field == "name" && branch != "" {
			return branch, nil
		}
		return "", clustermanager.Refuse("%s: it follows the %s %s, and what is merged into a branch would not reach the cluster: let it follow a branch",
			clustermanager.ReferenceTo(source), followed(field), value)
	}
	return defaultBranch, nil
}

func followed(field string) string {
	switch field {
	case "name":
		return "reference"
	case "semver":
		return "version range"
	}
	return field
}

// checkout refuses a target whose folder does not come from the repository itself: another repository is included over
// it, or the sparse checkout leaves it out.
func checkout(source *unstructured.Unstructured, target clustermanager.Target) error {
	reference := clustermanager.ReferenceTo(source)
	for _, include := range mapsAt(source.Object, "spec", "include") {
		included := textAt(include, "repository", "name")
		to := textAt(include, "toPath")
		if to == "" {
			to = included
		}
		folder, err := cleanPath(to)
		if err != nil || covers(folder, target.Path) || covers(target.Directory(), folder) {
			return clustermanager.Refuse("%s: its spec.include puts the GitRepository %s over %s, so files written there would not reach the cluster: change the include",
				reference, included, target.Directory())
		}
	}
	sparse, set, _ := unstructured.NestedStringSlice(source.Object, "spec", "sparseCheckout")
	if !set || len(sparse) == 0 {
		return nil
	}
	for _, entry := range sparse {
		if folder, err := cleanPath(entry); err == nil && covers(folder, target.Directory()) {
			return nil
		}
	}
	return clustermanager.Refuse("%s: its spec.sparseCheckout leaves out %s: add it there", reference, target.Directory())
}
