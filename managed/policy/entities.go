package policy

import (
	"encoding/json"
	"fmt"
	"slices"

	"github.com/cedar-policy/cedar-go"

	"github.com/clustermanager/cluster-manager/managed"
)

// Kinds of entities.
const (
	typeUser    cedar.EntityType = "User"
	typeGroup   cedar.EntityType = "Group"
	typeRole    cedar.EntityType = "Role"
	typeAction  cedar.EntityType = "Action"
	typeTenant  cedar.EntityType = "ComputeTenant"
	typeCluster cedar.EntityType = "ComputeKubernetesCluster"
)

var types = []cedar.EntityType{typeUser, typeGroup, typeRole, typeAction, typeTenant, typeCluster}

func uid(of cedar.EntityType, id string) cedar.EntityUID {
	return cedar.NewEntityUID(of, cedar.String(id))
}

// entities are the principal and the resource with their parents, and the request about them.
func (s *Set) entities(query managed.Query) (cedar.EntityMap, cedar.Request) {
	principal, resource := query.Principal, query.Resource
	user := cedar.Entity{UID: uid(typeUser, principal.ID)}
	var parents []cedar.EntityUID
	for _, group := range principal.Groups {
		parents = append(parents, uid(typeGroup, group))
	}
	for _, role := range s.roles(principal) {
		parents = append(parents, uid(typeRole, role))
	}
	user.Parents = cedar.NewEntityUIDSet(parents...)

	tenant := cedar.Entity{UID: uid(typeTenant, resource.Tenant), Attributes: attributes(managed.TenantResource(resource.Tenant))}
	entities := cedar.EntityMap{user.UID: user, tenant.UID: tenant}
	about := tenant.UID
	if resource.Type == managed.ResourceCluster {
		about = uid(typeCluster, resource.ID)
		entities[about] = cedar.Entity{UID: about, Parents: cedar.NewEntityUIDSet(tenant.UID), Attributes: attributes(resource)}
	}
	return entities, cedar.Request{
		Principal: user.UID, Action: uid(typeAction, string(query.Action)), Resource: about, Context: cedar.NewRecord(nil),
	}
}

// attributes are always all there: a policy that reads an absent one is skipped, and a forbid among them opens a door.
func attributes(resource managed.Resource) cedar.Record {
	role := func(name managed.TenantRole) cedar.EntityUID {
		return uid(typeRole, resource.Tenant+"/"+string(name))
	}
	return cedar.NewRecord(cedar.RecordMap{
		"providerAccountId": cedar.String(resource.AccountID),
		"poolId":            cedar.String(resource.PoolID),
		"projectId":         cedar.String(resource.ProjectID),
		"mode":              cedar.String(resource.Mode),
		"location":          cedar.String(resource.Location),
		"owner":             uid(typeUser, resource.Owner),
		"operators":         role(managed.TenantOperator),
		"viewers":           role(managed.TenantViewer),
	})
}

// known refuses a policy that names an action or a kind of entity that there is not.
func known(policy *cedar.Policy) error {
	data, err := policy.MarshalJSON()
	if err != nil {
		return fmt.Errorf("encoding: %w", err)
	}
	var tree any
	if err := json.Unmarshal(data, &tree); err != nil {
		return fmt.Errorf("decoding: %w", err)
	}
	return walk(tree)
}

func walk(tree any) error {
	switch tree := tree.(type) {
	case []any:
		for _, item := range tree {
			if err := walk(item); err != nil {
				return err
			}
		}
	case map[string]any:
		if err := knownEntity(tree); err != nil {
			return err
		}
		for _, value := range tree {
			if err := walk(value); err != nil {
				return err
			}
		}
	}
	return nil
}

// knownEntity checks an object of a policy's JSON that is a reference to an entity, or the right side of "is".
func knownEntity(of map[string]any) error {
	kind, is := of["entity_type"].(string)
	id, reference := of["id"].(string)
	if !is && reference {
		kind, is = of["type"].(string)
	}
	switch {
	case !is:
		return nil
	case !slices.Contains(types, cedar.EntityType(kind)):
		return fmt.Errorf("there are no entities of type %s: the types are %v", kind, types)
	case kind == string(typeAction) && reference && !slices.Contains(managed.Actions(), managed.Action(id)):
		return fmt.Errorf("there is no action %q: the actions are %v", id, managed.Actions())
	}
	return nil
}
