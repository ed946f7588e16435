// Package script plays, in the test's own process, the controllers that a bed cannot run: Karpenter, Cluster API's
// counting of machines, the GPU operator, KServe and model-manager. They work on the real definitions and say what the
// real ones say where this project reads it.
//
// It promises that each starts with one call and ends with the test, that it watches and never sleeps, and that an API
// server's refusal of what it writes fails the test. Nothing runs: a Node is an object, a Pod is running because its status
// says so.
//
// It leaves out everything that this project does not read, and failures that a test does not ask for.
package script

import (
	"context"
	"encoding/json"
	"fmt"
	"sync"
	"testing"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/dynamic/dynamicinformer"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/cache"

	"github.com/clustermanager/cluster-manager/internal/testbed"
)

// player plays one controller. One event is looked at at a time.
type player struct {
	t       testing.TB
	ctx     context.Context
	client  *testbed.Client
	mutex   sync.Mutex
	factory dynamicinformer.DynamicSharedInformerFactory
}

// newPlayer makes a player that calls with a configuration and ends with the test. It plays once all that it watches is
// told by watch, and start is called.
func newPlayer(t testing.TB, config *rest.Config) *player {
	t.Helper()
	client, err := testbed.NewClient(config)
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	made := &player{t: t, ctx: ctx, client: client, factory: dynamicinformer.NewDynamicSharedInformerFactory(client, 0)}
	t.Cleanup(func() {
		cancel()
		made.factory.Shutdown()
	})
	return made
}

func (p *player) start() { p.factory.Start(p.ctx.Done()) }

// watch calls do with every object of a kind as it is and each time it changes, and gone when it is no more.
func (p *player) watch(resource schema.GroupVersionResource, do, gone func(*unstructured.Unstructured) error) {
	p.t.Helper()
	if _, err := p.client.Resource(resource).List(p.ctx, metav1.ListOptions{Limit: 1}); err != nil {
		p.t.Fatalf("script: %s: listing: %v", resource.Resource, err)
	}
	call := func(do func(*unstructured.Unstructured) error, event any) {
		if last, ok := event.(cache.DeletedFinalStateUnknown); ok {
			event = last.Obj
		}
		if do != nil {
			p.check(do(event.(*unstructured.Unstructured).DeepCopy()))
		}
	}
	_, err := p.factory.ForResource(resource).Informer().AddEventHandler(cache.ResourceEventHandlerFuncs{
		AddFunc:    func(event any) { p.locked(func() { call(do, event) }) },
		UpdateFunc: func(_, event any) { p.locked(func() { call(do, event) }) },
		DeleteFunc: func(event any) { p.locked(func() { call(gone, event) }) },
	})
	if err != nil {
		p.t.Fatal(err)
	}
}

func (p *player) locked(do func()) {
	p.mutex.Lock()
	defer p.mutex.Unlock()
	do()
}

// check fails the test for an error that no later event mends: what changed or went meanwhile is told by one.
func (p *player) check(err error) {
	if err != nil && p.ctx.Err() == nil && !apierrors.IsNotFound(err) && !apierrors.IsConflict(err) {
		p.t.Errorf("script: %v", err)
	}
}

// known are the objects of a kind that is watched.
func (p *player) known(resource schema.GroupVersionResource) []*unstructured.Unstructured {
	var all []*unstructured.Unstructured
	for _, object := range p.factory.ForResource(resource).Informer().GetStore().List() {
		all = append(all, object.(*unstructured.Unstructured).DeepCopy())
	}
	return all
}

// status merges fields into an object's status.
func (p *player) status(object *unstructured.Unstructured, fields map[string]any) error {
	return p.patch(object, map[string]any{"status": fields}, "status")
}

func (p *player) patch(object *unstructured.Unstructured, fields map[string]any, subresources ...string) error {
	resource, err := p.client.Of(object)
	if err != nil {
		return err
	}
	content, err := json.Marshal(fields)
	if err != nil {
		return err
	}
	_, err = resource.Patch(p.ctx, object.GetName(), types.MergePatchType, content, metav1.PatchOptions{}, subresources...)
	if err != nil {
		return fmt.Errorf("%s %s: writing %v: %w", object.GetKind(), object.GetName(), subresources, err)
	}
	return nil
}

// create makes an object unless it is there.
func (p *player) create(object *unstructured.Unstructured) error {
	resource, err := p.client.Of(object)
	if err != nil {
		return err
	}
	if _, err := resource.Create(p.ctx, object, metav1.CreateOptions{}); err != nil && !apierrors.IsAlreadyExists(err) {
		return fmt.Errorf("%s %s: creating: %w", object.GetKind(), object.GetName(), err)
	}
	return nil
}

// remove deletes an object at once, if it is there.
func (p *player) remove(object *unstructured.Unstructured) error {
	resource, err := p.client.Of(object)
	if err != nil {
		return err
	}
	err = resource.Delete(p.ctx, object.GetName(), metav1.DeleteOptions{GracePeriodSeconds: new(int64)})
	if err != nil && !apierrors.IsNotFound(err) {
		return fmt.Errorf("%s %s: deleting: %w", object.GetKind(), object.GetName(), err)
	}
	return nil
}

// schedule puts a Pod on a Node, as a scheduler does, unless it is on one.
func (p *player) schedule(pod *unstructured.Unstructured, node string) error {
	binding := object("v1", "Binding", pod.GetNamespace(), pod.GetName(), map[string]any{
		"target": map[string]any{"apiVersion": "v1", "kind": "Node", "name": node},
	})
	resource, err := p.client.Of(pod)
	if err != nil {
		return err
	}
	_, err = resource.Create(p.ctx, binding, metav1.CreateOptions{}, "binding")
	if err != nil && !apierrors.IsConflict(err) {
		return fmt.Errorf("Pod %s/%s: putting it on Node %s: %w", pod.GetNamespace(), pod.GetName(), node, err)
	}
	return nil
}

// finalizers writes the list of finalizers.
func (p *player) finalizers(object *unstructured.Unstructured, list ...string) error {
	if list == nil {
		list = []string{}
	}
	return p.patch(object, map[string]any{"metadata": map[string]any{"finalizers": list}})
}

// condition is one of a status.
type condition struct{ kind, status, reason, message string }

// conditions are the object's own with some of them set; what does not change keeps its time. It also tells whether any
// changed.
func conditions(object *unstructured.Unstructured, set ...condition) (list []any, changed bool) {
	list, _, _ = unstructured.NestedSlice(object.Object, "status", "conditions")
	for _, one := range set {
		fields := map[string]any{
			"type": one.kind, "status": one.status, "reason": one.reason, "message": one.message,
			"lastTransitionTime": time.Now().UTC().Format(time.RFC3339),
		}
		found := false
		for index, former := range list {
			former := former.(map[string]any)
			if former["type"] != one.kind {
				continue
			}
			found = true
			if former["status"] != one.status || former["reason"] != one.reason || former["message"] != one.message {
				list[index], changed = fields, true
			}
		}
		if !found {
			list, changed = append(list, fields), true
		}
	}
	return list, changed
}

// is asks for a condition that is True.
func is(object *unstructured.Unstructured, kind string) bool {
	list, _, _ := unstructured.NestedSlice(object.Object, "status", "conditions")
	for _, one := range list {
		if fields := one.(map[string]any); fields["type"] == kind {
			return fields["status"] == "True"
		}
	}
	return false
}

func object(apiVersion, kind, namespace, name string, fields map[string]any) *unstructured.Unstructured {
	made := &unstructured.Unstructured{Object: map[string]any{"apiVersion": apiVersion, "kind": kind}}
	for key, value := range fields {
		made.Object[key] = value
	}
	made.SetName(name)
	if namespace != "" {
		made.SetNamespace(namespace)
	}
	return made
}

// ownedBy lets the garbage collector take an object with its owner.
func ownedBy(owner, object *unstructured.Unstructured) *unstructured.Unstructured {
	object.SetOwnerReferences([]metav1.OwnerReference{{
		APIVersion: owner.GetAPIVersion(), Kind: owner.GetKind(), Name: owner.GetName(), UID: owner.GetUID(),
	}})
	return object
}

func resource(group, version, plural string) schema.GroupVersionResource {
	return schema.GroupVersionResource{Group: group, Version: version, Resource: plural}
}

var (
	nodes       = resource("", "v1", "nodes")
	deployments = resource("apps", "v1", "deployments")
	daemonSets  = resource("apps", "v1", "daemonsets")
)

// poolLabel is the label of a pool's Nodes; its value is the pool's release.
const poolLabel = "giantswarm.io/machine-pool"
