package testbed

import (
	"context"
	"fmt"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"

	clustermanager "github.com/clustermanager/cluster-manager"
)

// Delivery is a repository that Flux fetches, and a folder of it that Flux applies.
type Delivery struct {
	// Namespace and Name are those of the GitRepository and the Kustomization.
	Namespace, Name string
	// URL is the repository's, http on loopback included; Branch its branch, main when empty.
	URL, Branch string
	// Token opens the repository; without, it is fetched as nobody.
	Token clustermanager.Secret
	// Path is the folder, "./" when empty.
	Path string
	// ServiceAccount is who applies, of the same namespace; empty is Flux itself, which may do everything.
	ServiceAccount string
	// AgeKey is the key of what is sealed, as age-keygen writes it; without, nothing is decrypted.
	AgeKey clustermanager.Secret
	// Prune deletes what is no longer in the folder.
	Prune bool
}

// Deliver writes the GitRepository, the Kustomization and the Secrets <name>-forge and <name>-sops, as the administrator.
// Flux fetches and applies at once; Client.Reconcile asks it to do so again.
func (b *Bed) Deliver(ctx context.Context, delivery Delivery) error {
	client, err := NewClient(b.Admin())
	if err != nil {
		return err
	}
	return client.Apply(ctx, delivery.objects()...)
}

func (d Delivery) objects() []*unstructured.Unstructured {
	if d.Branch == "" {
		d.Branch = "main"
	}
	if d.Path == "" {
		d.Path = "./"
	}
	source := map[string]any{"interval": "10m", "url": d.URL, "ref": map[string]any{"branch": d.Branch}}
	applied := map[string]any{
		"interval": "10m", "path": d.Path, "prune": d.Prune,
		"sourceRef": map[string]any{"kind": "GitRepository", "name": d.Name},
	}
	var objects []*unstructured.Unstructured
	if !d.Token.IsZero() {
		name := d.Name + "-forge"
		source["secretRef"] = map[string]any{"name": name}
		objects = append(objects, d.object("v1", "Secret", name, "stringData", map[string]any{
			"username": "x-access-token", "password": d.Token.Reveal(),
		}))
	}
	if !d.AgeKey.IsZero() {
		name := d.Name + "-sops"
		applied["decryption"] = map[string]any{"provider": "sops", "secretRef": map[string]any{"name": name}}
		objects = append(objects, d.object("v1", "Secret", name, "stringData", map[string]any{"identity.agekey": d.AgeKey.Reveal()}))
	}
	if d.ServiceAccount != "" {
		applied["serviceAccountName"] = d.ServiceAccount
	}
	return append(objects,
		d.object("source.toolkit.fluxcd.io/v1", "GitRepository", d.Name, "spec", source),
		d.object("kustomize.toolkit.fluxcd.io/v1", "Kustomization", d.Name, "spec", applied))
}

func (d Delivery) object(apiVersion, kind, name, field string, content map[string]any) *unstructured.Unstructured {
	return &unstructured.Unstructured{Object: map[string]any{
		"apiVersion": apiVersion, "kind": kind, "metadata": map[string]any{"namespace": d.Namespace, "name": name}, field: content,
	}}
}

// Reconcile asks Flux to look at an object now.
func (c *Client) Reconcile(ctx context.Context, object *unstructured.Unstructured) error {
	resource, err := c.Of(object)
	if err != nil {
		return err
	}
	patch := fmt.Sprintf(`{"metadata":{"annotations":{"reconcile.fluxcd.io/requestedAt":%q}}}`, time.Now().Format(time.RFC3339Nano))
	if _, err := resource.Patch(ctx, object.GetName(), types.MergePatchType, []byte(patch), metav1.PatchOptions{}); err != nil {
		return fmt.Errorf("%s: asking Flux to look at it: %w", name(object), err)
	}
	return nil
}

// Until waits until check says nothing against an object as the API server has it, for two minutes at most.
func (c *Client) Until(ctx context.Context, object *unstructured.Unstructured, check func(*unstructured.Unstructured) error) error {
	resource, err := c.Of(object)
	if err != nil {
		return err
	}
	err = Eventually(ctx, func(ctx context.Context) error {
		found, err := resource.Get(ctx, object.GetName(), metav1.GetOptions{})
		if err != nil {
			return err
		}
		return check(found)
	})
	if err != nil {
		return fmt.Errorf("%s: waiting: %w", name(object), err)
	}
	return nil
}
