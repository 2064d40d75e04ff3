// Copyright 2026 The Docket Authors.
// SPDX-License-Identifier: Apache-2.0

package admission

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"

	authenticationv1 "k8s.io/api/authentication/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"

	"github.com/docket-project/docket/controller/internal/served"
	"github.com/docket-project/docket/controller/internal/source"
)

const (
	roleKind             = "Role"
	clusterRoleKind      = "ClusterRole"
	serviceAccountPrefix = "system:serviceaccount:"
)

// bindingResources are those with [rbacv1.RoleBinding]s and with [rbacv1.ClusterRoleBinding]s.
//
//nolint:gochecknoglobals // Constants.
var bindingResources = []served.Resource{
	{GroupVersionResource: rbacv1.SchemeGroupVersion.WithResource("rolebindings"), Kind: "RoleBinding", Namespaced: true, Listable: true},
	{GroupVersionResource: rbacv1.SchemeGroupVersion.WithResource("clusterrolebindings"), Kind: "ClusterRoleBinding", Listable: true},
}

// who is a user, as the API server calls it, or a group.
type who struct {
	group bool
	name  string
}

// granted is a role that a binding gives. The namespace is that of the binding; empty for a
// ClusterRoleBinding.
type granted struct {
	namespace, kind, name string
}

// binding is what a binding says.
type binding struct {
	role     granted
	subjects []who
}

// bindings knows the RoleBindings or the ClusterRoleBindings of a cluster by who is bound. It is the
// store of its source.
type bindings struct {
	source *source.Source

	mu    sync.RWMutex
	all   map[types.NamespacedName]binding
	byWho map[who]map[types.NamespacedName]granted
}

func newBindings() *bindings {
	return &bindings{all: map[types.NamespacedName]binding{}, byWho: map[who]map[types.NamespacedName]granted{}}
}

// add collects the roles of a user. As in Kyverno, a Role counts wherever it is bound, and a
// ClusterRole that a RoleBinding gives only in its namespace.
func (b *bindings) add(roles, clusterRoles map[string]bool, user *authenticationv1.UserInfo, namespace string) error {
	if listed, err := b.source.State(); !listed {
		if err == nil {
			err = fmt.Errorf("%s are not listed yet", b.source.Resource().GroupResource())
		}
		return fmt.Errorf("roles of the user: %w", err)
	}
	b.mu.RLock()
	defer b.mu.RUnlock()
	collect := func(w who) {
		for _, role := range b.byWho[w] {
			switch {
			case role.kind == roleKind && role.namespace != "":
				roles[role.namespace+":"+role.name] = true
			case role.kind == clusterRoleKind && (role.namespace == "" || role.namespace == namespace):
				clusterRoles[role.name] = true
			}
		}
	}
	collect(who{name: user.Username})
	for _, group := range user.Groups {
		collect(who{group: true, name: group})
	}
	return nil
}

// rolesOf returns the roles (namespace:name) and cluster roles that bindings give to a user.
func rolesOf(all []*bindings, user *authenticationv1.UserInfo, namespace string) (roles, clusterRoles []string, err error) {
	if len(all) == 0 {
		return nil, nil, fmt.Errorf("roles of the user: role bindings are not watched yet")
	}
	ofRoles, ofClusterRoles := map[string]bool{}, map[string]bool{}
	for _, b := range all {
		if err := b.add(ofRoles, ofClusterRoles, user, namespace); err != nil {
			return nil, nil, err
		}
	}
	return slices.Sorted(maps.Keys(ofRoles)), slices.Sorted(maps.Keys(ofClusterRoles)), nil
}

// read returns what a binding says. What users write there is taken as far as it makes sense.
func read(u *unstructured.Unstructured) (types.NamespacedName, binding, error) {
	name := types.NamespacedName{Namespace: u.GetNamespace(), Name: u.GetName()}
	var typed rbacv1.RoleBinding // A ClusterRoleBinding has the same fields.
	if err := runtime.DefaultUnstructuredConverter.FromUnstructured(u.Object, &typed); err != nil {
		return name, binding{}, fmt.Errorf("binding %s: %w", name, err)
	}
	result := binding{role: granted{namespace: name.Namespace, kind: strings.Clone(typed.RoleRef.Kind), name: strings.Clone(typed.RoleRef.Name)}}
	for _, subject := range typed.Subjects {
		switch subject.Kind {
		case rbacv1.ServiceAccountKind:
			namespace := subject.Namespace
			if namespace == "" {
				namespace = name.Namespace
			}
			if namespace != "" {
				result.subjects = append(result.subjects, who{name: serviceAccountPrefix + namespace + ":" + subject.Name})
			}
		case rbacv1.GroupKind:
			result.subjects = append(result.subjects, who{group: true, name: subject.Name})
		case rbacv1.UserKind:
			result.subjects = append(result.subjects, who{name: subject.Name})
		}
	}
	return name, result, nil
}

// Add is called for a binding that is new.
func (b *bindings) Add(object any) error { return b.Update(object) }

// Update is called for a binding that changed.
func (b *bindings) Update(object any) error {
	u, err := asObject(object)
	if err != nil {
		return err
	}
	name, now, err := read(u)
	if err != nil {
		return err
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	b.remove(name)
	b.put(name, now)
	return nil
}

// put is called with b.mu.
func (b *bindings) put(name types.NamespacedName, now binding) {
	b.all[name] = now
	for _, w := range now.subjects {
		if b.byWho[w] == nil {
			b.byWho[w] = map[types.NamespacedName]granted{}
		}
		b.byWho[w][name] = now.role
	}
}

// remove is called with b.mu.
func (b *bindings) remove(name types.NamespacedName) {
	for _, w := range b.all[name].subjects {
		delete(b.byWho[w], name)
		if len(b.byWho[w]) == 0 {
			delete(b.byWho, w)
		}
	}
	delete(b.all, name)
}

// Delete is called for a binding that is gone.
func (b *bindings) Delete(object any) error {
	u, err := asObject(object)
	if err != nil {
		return err
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	b.remove(types.NamespacedName{Namespace: u.GetNamespace(), Name: u.GetName()})
	return nil
}

// Replace is called with all bindings.
func (b *bindings) Replace(objects []any, _ string) error {
	found := newBindings()
	for _, object := range objects {
		u, err := asObject(object)
		if err != nil {
			return err
		}
		name, one, err := read(u)
		if err != nil {
			return err
		}
		found.put(name, one)
	}
	b.mu.Lock()
	b.all, b.byWho = found.all, found.byWho
	b.mu.Unlock()
	b.source.SetListed()
	return nil
}

// Resync does nothing.
func (b *bindings) Resync() error { return nil }
