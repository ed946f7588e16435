package managed

import "reflect"

// Action is what a decision is about.
type Action string

const (
	ActionCreate  Action = "compute:kubernetes:create"
	ActionRead    Action = "compute:kubernetes:read"
	ActionUpdate  Action = "compute:kubernetes:update"
	ActionDelete  Action = "compute:kubernetes:delete"
	ActionConnect Action = "compute:kubernetes:connect"
)

// Actions are all actions.
func Actions() []Action {
	return []Action{ActionCreate, ActionRead, ActionUpdate, ActionDelete, ActionConnect}
}

// ResourceType is the kind of resource that a decision is about, and that an error names.
type ResourceType string

const (
	ResourceCluster ResourceType = "compute-kubernetes-cluster"
	ResourceTenant  ResourceType = "compute-tenant"
	// ResourcePool is no resource of a decision: what NOT_FOUND names when the tenant cannot see a pool.
	ResourcePool ResourceType = "compute-pool"
)

// Kind says whether a method changes something.
type Kind string

const (
	Mutation Kind = "mutation"
	Read     Kind = "read"
)

// APIPath is the path below which the methods are served, as <path><group>/<name>.
const APIPath = "/api/compute/"

// GroupClusters are the methods of clusters.
const GroupClusters = "kubernetesClusters"

// Method is a row of the method table.
type Method struct {
	Group, Name string
	Kind        Kind
	Action      Action
	Resource    ResourceType
	// Items says that each item of the answer is decided too, so that what a policy forbids is left out.
	Items bool
	// NoStore says that the answer goes out with Cache-Control: no-store.
	NoStore bool
	// Input are the fields of the body, Output the type of the answer.
	Input  []Field
	Output reflect.Type
}

// Path is the route: POST and no other verb.
func (m Method) Path() string { return APIPath + m.Group + "/" + m.Name }

// String is the method as an error and an audit record name it: kubernetesClusters.create.
func (m Method) String() string { return m.Group + "." + m.Name }

// Authorization is the cell of the reference: action and resource.
func (m Method) Authorization() string {
	if m.Items {
		return string(m.Action) + " @ " + string(m.Resource) + " + items"
	}
	return string(m.Action) + " @ " + string(m.Resource)
}

// Call is a method with the types of its input and its answer. [Decode] reads the one; who serves it takes a function
// from the one to the other.
type Call[In, Out any] struct{ Method }

// call makes a row. A method without an action does not compile.
func call[In, Out any](name string, kind Kind, action Action, resource ResourceType) Call[In, Out] {
	return Call[In, Out]{Method{
		Group: GroupClusters, Name: name, Kind: kind, Action: action, Resource: resource,
		Input: fieldsOf(reflect.TypeFor[In]()), Output: reflect.TypeFor[Out](),
	}}
}

// The calls, in the order of the reference.
var (
	Create      = call[CreateInput, ClusterAnswer]("create", Mutation, ActionCreate, ResourceCluster)
	List        = list()
	Get         = call[GetInput, ClusterAnswer]("get", Read, ActionRead, ResourceCluster)
	Update      = call[UpdateInput, ClusterAnswer]("update", Mutation, ActionUpdate, ResourceCluster)
	Delete      = call[DeleteInput, ClusterAnswer]("delete", Mutation, ActionDelete, ResourceCluster)
	Credentials = credentials()
	Versions    = call[VersionsInput, VersionsAnswer]("versions", Read, ActionRead, ResourceTenant)
)

func list() Call[ListInput, ListAnswer] {
	row := call[ListInput, ListAnswer]("list", Read, ActionRead, ResourceTenant)
	row.Items = true
	return row
}

func credentials() Call[CredentialsInput, CredentialsAnswer] {
	row := call[CredentialsInput, CredentialsAnswer]("credentials", Mutation, ActionConnect, ResourceCluster)
	row.NoStore = true
	return row
}

// Methods is the method table.
func Methods() []Method {
	return []Method{
		Create.Method, List.Method, Get.Method, Update.Method, Delete.Method, Credentials.Method, Versions.Method,
	}
}
