// Copyright 2026 The Docket Authors.
// SPDX-License-Identifier: Apache-2.0

package admission

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	authenticationv1 "k8s.io/api/authentication/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"

	"github.com/docket-project/docket/controller/internal/cluster/served"
	"github.com/docket-project/docket/controller/internal/cluster/source"
)

const (
	roleKind             = "Role"
	clusterRoleKind      = "ClusterRole"
	serviceAccountPrefix = "system:serviceaccount:"
)

// bindingResources are the resources of [rbacv1.RoleBinding] and [rbacv1.ClusterRoleBinding].
var bindingResources = []served.Resource{
	{GroupVersionResource: rbacv1.SchemeGroupVersion.WithResource("rolebindings"), Kind: "RoleBinding", Namespaced: true, Watchable: true},
	{GroupVersionResource: rbacv1.SchemeGroupVersion.WithResource("clusterrolebindings"), Kind: "ClusterRoleBinding", Watchable: true},
}

// who is the name of a user, as the API server has it, or of a group.
type who struct {
	group bool
	name  string
}

// granted is a role that a binding grants. The namespace is the binding's; empty for a ClusterRoleBinding.
type granted struct {
	namespace, kind, name string
}

// binding is the content of a binding.
type binding struct {
	role     granted
	subjects []who
}

// bindings has the RoleBindings or the ClusterRoleBindings of a cluster, by user and group.
type bindings struct {
	*source.Mirror[*binding]

	source *source.Source
	// byWho is guarded by the lock of the mirror.
	byWho map[who]map[types.NamespacedName]granted
}

func newBindings() *bindings {
	b := &bindings{byWho: map[who]map[types.NamespacedName]granted{}}
	b.Mirror = source.NewMirror(source.MirrorConfig[*binding]{Keep: read, Index: b.index})
	return b
}

// add adds the roles of a user. As in Kyverno, a Role counts wherever it is bound; a ClusterRole granted by a
// RoleBinding counts only in the namespace of the binding.
func (b *bindings) add(roles, clusterRoles map[string]bool, user *authenticationv1.UserInfo, namespace string) error {
	if listed, err := b.source.State(); !listed {
		if err == nil {
			err = fmt.Errorf("%s are not listed yet", b.source.Resource().GroupResource())
		}
		return fmt.Errorf("roles of the user: %w", err)
	}
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
	b.View(func() {
		collect(who{name: user.Username})
		for _, group := range user.Groups {
			collect(who{group: true, name: group})
		}
	})
	return nil
}

// rolesOf returns the roles (namespace:name) and cluster roles that bindings grant to a user.
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

// read returns the content of a binding, without subjects that are invalid.
func read(u *unstructured.Unstructured, _ *binding) (*binding, error) {
	name := types.NamespacedName{Namespace: u.GetNamespace(), Name: u.GetName()}
	var typed rbacv1.RoleBinding // A ClusterRoleBinding has the same fields.
	if err := runtime.DefaultUnstructuredConverter.FromUnstructured(u.Object, &typed); err != nil {
		return nil, fmt.Errorf("binding %s: %w", name, err)
	}
	result := &binding{role: granted{namespace: name.Namespace, kind: strings.Clone(typed.RoleRef.Kind), name: strings.Clone(typed.RoleRef.Name)}}
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
	return result, nil
}

// index updates byWho. It is called with the lock of the mirror.
func (b *bindings) index(name types.NamespacedName, before, now *binding) {
	if before != nil {
		for _, w := range before.subjects {
			delete(b.byWho[w], name)
			if len(b.byWho[w]) == 0 {
				delete(b.byWho, w)
			}
		}
	}
	if now != nil {
		for _, w := range now.subjects {
			if b.byWho[w] == nil {
				b.byWho[w] = map[types.NamespacedName]granted{}
			}
			b.byWho[w][name] = now.role
		}
	}
}
