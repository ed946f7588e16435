package main

import (
	"encoding/json"
	"fmt"
	"os"

	"github.com/zitadel/oidc/v3/example/server/storage"
)

// person is a user as the file has them.
type person struct {
	Email    string   `json:"email"`
	Password string   `json:"password"`
	Groups   []string `json:"groups"`
}

// people are the users by e-mail, which is their subject and their login name too.
type people map[string]person

var _ storage.UserStore = people{}

func readPeople(path string) (people, error) {
	content, err := os.ReadFile(path)
	if err != nil {
		return nil, fmt.Errorf("users: reading: %w", err)
	}
	var list []person
	if err := json.Unmarshal(content, &list); err != nil {
		return nil, fmt.Errorf("users: reading %s: %w", path, err)
	}
	all := people{}
	for _, one := range list {
		all[one.Email] = one
	}
	return all, nil
}

// GetUserByID is the user of a subject.
func (p people) GetUserByID(id string) *storage.User {
	one, found := p[id]
	if !found {
		return nil
	}
	return &storage.User{ID: one.Email, Username: one.Email, Password: one.Password, Email: one.Email, EmailVerified: true}
}

// GetUserByUsername is the user of a login name.
func (p people) GetUserByUsername(name string) *storage.User { return p.GetUserByID(name) }

// ExampleClientID names a service account of the library's, which is not used here.
func (p people) ExampleClientID() string { return "unused" }
