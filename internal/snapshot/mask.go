package snapshot

import (
	"encoding/base64"
	"encoding/json"
	"net/url"
	"reflect"
	"strings"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/client-go/tools/clientcmd"
	clientcmdapi "k8s.io/client-go/tools/clientcmd/api"
	"sigs.k8s.io/yaml"

	clustermanager "github.com/clustermanager/cluster-manager"
)

const (
	// kubeconfigSuffix and kubeconfigKey name a cluster's kubeconfig.
	kubeconfigSuffix = "-kubeconfig"
	kubeconfigKey    = "value"
	// lastApplied is a copy of the object as somebody wrote it, Secrets' values included.
	lastApplied = "kubectl.kubernetes.io/last-applied-configuration"
)

// masks are what is taken out of the objects of a kind, besides what every object loses.
var masks = map[string]func(map[string]any){
	"Secret":                   maskSecret,
	"ConfigMap":                maskConfigMap,
	"HelmRelease":              func(object map[string]any) { maskAt(object, "spec", "values") },
	"Kustomization":            func(object map[string]any) { maskAt(object, "spec", "postBuild", "substitute") },
	"Pod":                      func(object map[string]any) { maskContainers(object, "spec") },
	"Job":                      func(object map[string]any) { maskContainers(object, "spec", "template", "spec") },
	"Deployment":               func(object map[string]any) { maskContainers(object, "spec", "template", "spec") },
	"DaemonSet":                func(object map[string]any) { maskContainers(object, "spec", "template", "spec") },
	"CustomResourceDefinition": dropSchemas,
}

// sources are the kinds with the address of a repository.
var sources = map[string]bool{"GitRepository": true, "OCIRepository": true}

// masked is a copy of an object as it may leave the installation.
func masked(object *unstructured.Unstructured) *unstructured.Unstructured {
	copied := object.DeepCopy()
	if sources[copied.GetKind()] {
		maskURL(copied.Object)
	}
	if copied.GetKind() != "Secret" {
		copied.Object, _ = maskedStrings(copied.Object).(map[string]any)
	}
	copied.SetManagedFields(nil)
	copied.SetResourceVersion("")
	annotations := copied.GetAnnotations()
	delete(annotations, lastApplied)
	for key, text := range annotations {
		if isSecret(key) && text != "" {
			annotations[key] = clustermanager.Masked
		}
	}
	if len(annotations) == 0 {
		annotations = nil
	}
	copied.SetAnnotations(annotations)
	if mask := masks[copied.GetKind()]; mask != nil {
		mask(copied.Object)
	}
	return copied
}

// withoutCredentials masks values as a survey's file does.
func withoutCredentials(values map[string]any) map[string]any {
	document, err := json.Marshal(clustermanager.NewValues(values))
	var shown map[string]any
	if err != nil || json.Unmarshal(document, &shown) != nil {
		return map[string]any{}
	}
	return shown
}

func maskAt(object map[string]any, path ...string) {
	values, there, err := unstructured.NestedMap(object, path...)
	if there && err == nil {
		_ = unstructured.SetNestedMap(object, withoutCredentials(values), path...)
	}
}

// maskSecret keeps the keys. Of a kubeconfig it keeps what finds and trusts the server.
func maskSecret(object map[string]any) {
	data, _, _ := unstructured.NestedStringMap(object, "data")
	name, _, _ := unstructured.NestedString(object, "metadata", "name")
	kept := map[string]any{}
	for key, value := range data {
		shown := clustermanager.Masked
		if strings.HasSuffix(name, kubeconfigSuffix) && key == kubeconfigKey {
			shown = withoutUsers(value)
		}
		kept[key] = base64.StdEncoding.EncodeToString([]byte(shown))
	}
	delete(object, "stringData")
	delete(object, "data")
	if len(kept) > 0 {
		object["data"] = kept
	}
}

// withoutUsers is a kubeconfig's clusters alone; what is no kubeconfig is masked.
func withoutUsers(encoded string) string {
	content, err := base64.StdEncoding.DecodeString(encoded)
	if err != nil {
		return clustermanager.Masked
	}
	config, err := clientcmd.Load(content)
	if err != nil {
		return clustermanager.Masked
	}
	kept := clientcmdapi.NewConfig()
	for name, cluster := range config.Clusters {
		server := cluster.Server
		if address, err := url.Parse(server); err == nil && address.User != nil {
			address.User = nil
			server = address.String()
		}
		kept.Clusters[name] = &clientcmdapi.Cluster{
			Server: server, CertificateAuthorityData: cluster.CertificateAuthorityData, TLSServerName: cluster.TLSServerName,
		}
	}
	written, err := clientcmd.Write(*kept)
	if err != nil {
		return clustermanager.Masked
	}
	return string(written)
}

// maskConfigMap masks the credentials of each key: among the values of a YAML document, and in a text by its key and by
// the addresses in it. A key that holds none keeps its text as it is.
func maskConfigMap(object map[string]any) {
	data, _, _ := unstructured.NestedStringMap(object, "data")
	for key, text := range data {
		data[key] = maskText(key, text)
	}
	if len(data) > 0 {
		_ = unstructured.SetNestedStringMap(object, data, "data")
	}
	delete(object, "binaryData")
}

const nextDocument = "\n---\n"

func maskText(key, text string) string {
	if strings.Contains(text, "PRIVATE KEY-----") {
		return clustermanager.Masked
	}
	if strings.Contains(text, nextDocument) {
		documents := strings.Split(text, nextDocument)
		for index := range documents {
			documents[index] = maskText(key, documents[index])
		}
		return strings.Join(documents, nextDocument)
	}
	var value any
	if err := yaml.Unmarshal([]byte(text), &value); err == nil {
		switch value.(type) {
		case map[string]any, []any:
			return maskDocument(key, text, value)
		}
	}
	lines := strings.SplitAfter(text, "\n")
	for index, line := range lines {
		ending := line[len(strings.TrimRight(line, "\r\n")):]
		// Only an address carries a user in front of an @; a text of one line may be one without a scheme.
		if strings.Contains(line, "://") || len(lines) == 1 || isSecret(key) {
			lines[index] = maskedLeaf(key, strings.TrimSuffix(line, ending)) + ending
		}
	}
	return strings.Join(lines, "")
}

// maskDocument masks a document; the text stays where nothing is masked.
func maskDocument(key, text string, value any) string {
	shown := maskedUnder(key, withoutCredentials(map[string]any{key: value})[key])
	if reflect.DeepEqual(shown, value) {
		return text
	}
	document, err := yaml.Marshal(shown)
	if err != nil {
		return clustermanager.Masked
	}
	return string(document)
}

// maskedLeaf is a text as it is shown under a key.
func maskedLeaf(key, text string) string {
	shown, _ := withoutCredentials(map[string]any{key: text})[key].(string)
	return shown
}

func isSecret(key string) bool { return maskedLeaf(key, "x") == clustermanager.Masked }

// maskURL takes a password out of a source's address. A user alone, such as git, is none.
func maskURL(object map[string]any) {
	text, _, _ := unstructured.NestedString(object, "spec", "url")
	address, err := url.Parse(text)
	if err != nil || address.User == nil {
		return
	}
	if _, has := address.User.Password(); has || strings.HasPrefix(address.Scheme, "http") {
		address.User = nil
		_ = unstructured.SetNestedField(object, address.String(), "spec", "url")
	}
}

// maskContainers takes out what containers are told, where passwords stand in the clear.
func maskContainers(object map[string]any, path ...string) {
	for _, list := range []string{"containers", "initContainers", "ephemeralContainers"} {
		at := append(append([]string{}, path...), list)
		containers, there, err := unstructured.NestedSlice(object, at...)
		if !there || err != nil {
			continue
		}
		for _, entry := range containers {
			if container, is := entry.(map[string]any); is {
				for _, told := range []string{"env", "envFrom", "args", "command"} {
					delete(container, told)
				}
			}
		}
		_ = unstructured.SetNestedSlice(object, containers, at...)
	}
}

// dropSchemas keeps what a definition says of names and versions.
func dropSchemas(object map[string]any) {
	versions, there, err := unstructured.NestedSlice(object, "spec", "versions")
	if !there || err != nil {
		return
	}
	for _, entry := range versions {
		if version, is := entry.(map[string]any); is {
			delete(version, "schema")
		}
	}
	_ = unstructured.SetNestedSlice(object, versions, "spec", "versions")
}
