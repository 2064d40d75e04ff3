// Copyright 2026 The Docket Authors.
// SPDX-License-Identifier: Apache-2.0

package bootstrap

import (
	"maps"
	"slices"

	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/intstr"

	"github.com/docket-project/docket/internal/registry"
)

const (
	// serviceAccount is the name of the server's identity.
	serviceAccount = "docket"
	// httpsPort is the name of the port, of the Service and of the container.
	httpsPort = "https"
)

// Labels of the objects, and of the pods that the Service selects.
const (
	nameLabel      = "app.kubernetes.io/name"
	componentLabel = "app.kubernetes.io/component"
	docketName     = "docket"
	server         = "server"
	registration   = "registration"
)

// automanagedLabel at "false" keeps kube-apiserver from setting an APIService back
// to the one that it made for a CRD of the same group.
const automanagedLabel = "kube-aggregator.kubernetes.io/automanaged"

// Priorities of the APIServices, wherever they are made.
const (
	// GroupPriorityMinimum is what kube-apiserver gives to the groups of CRDs: among
	// groups with resources of the same name or short name, nothing changes for clients
	// when Docket takes a group over. A group has the highest number of its versions.
	GroupPriorityMinimum = 1000
	// VersionPriority is the highest number that an APIService may have. kube-apiserver
	// gives 100 to each version of a CRD, and where numbers are equal, the names of the
	// versions decide: v1beta1 goes before v1alpha2. The version that comes first is the
	// one in which kubectl, the deletion of namespaces, the garbage collector and quotas
	// look at a resource. If that is a version that a CRD of another tool brings, they
	// look into etcd: reports in Docket are not shown, and outlive their namespace.
	VersionPriority = 1000
)

// objects returns all objects in the order in which they are to be created.
func (p Parameters) objects() []any {
	var all []any
	if p.CreateNamespace {
		all = append(all, p.namespace())
	}
	all = append(all, p.serviceAccount())
	all = append(all, p.serverRoles()...)
	all = append(all, p.peopleRoles()...)
	all = append(all, p.service())
	for _, service := range p.apiServices() {
		all = append(all, service)
	}
	return all
}

// labelled adds what all objects have in common to labels, which may be nil.
func labelled(labels map[string]string) map[string]string {
	all := map[string]string{nameLabel: docketName}
	maps.Copy(all, labels)
	return all
}

func (p Parameters) namespace() *corev1.Namespace {
	return &corev1.Namespace{
		TypeMeta: metav1.TypeMeta{APIVersion: "v1", Kind: "Namespace"},
		ObjectMeta: metav1.ObjectMeta{
			Name: p.Namespace, Labels: labelled(map[string]string{"pod-security.kubernetes.io/enforce": "restricted"}),
		},
	}
}

func (p Parameters) serviceAccount() *corev1.ServiceAccount {
	mount := false // Only the server's pods get a token; they ask for it themselves.
	return &corev1.ServiceAccount{
		TypeMeta:                     metav1.TypeMeta{APIVersion: "v1", Kind: rbacv1.ServiceAccountKind},
		ObjectMeta:                   metav1.ObjectMeta{Name: serviceAccount, Namespace: p.Namespace, Labels: labelled(nil)},
		AutomountServiceAccountToken: &mount,
	}
}

func (p Parameters) service() *corev1.Service {
	return &corev1.Service{
		TypeMeta:   metav1.TypeMeta{APIVersion: "v1", Kind: "Service"},
		ObjectMeta: metav1.ObjectMeta{Name: p.Service, Namespace: p.Namespace, Labels: labelled(nil)},
		Spec: corev1.ServiceSpec{
			Selector: labelled(map[string]string{componentLabel: server}),
			Ports: []corev1.ServicePort{{
				Name: httpsPort, Port: p.HTTPSPort, Protocol: corev1.ProtocolTCP, TargetPort: intstr.FromString(httpsPort),
			}},
		},
	}
}

// apiService is the part of apiregistration.k8s.io/v1 that is used here.
//
// Why not k8s.io/kube-aggregator: it would bring the code of an aggregator into the
// binary for these few fields. The tests on a real kube-apiserver would see a wrong
// one.
type apiService struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata"`
	Spec              apiServiceSpec `json:"spec"`
}

type apiServiceSpec struct {
	Group                string           `json:"group"`
	Version              string           `json:"version"`
	GroupPriorityMinimum int32            `json:"groupPriorityMinimum"`
	VersionPriority      int32            `json:"versionPriority"`
	Service              serviceReference `json:"service"`
	CABundle             []byte           `json:"caBundle,omitempty"`
}

type serviceReference struct {
	Namespace string `json:"namespace"`
	Name      string `json:"name"`
	Port      int32  `json:"port"`
}

// apiServices returns one object for each version of the chosen groups.
func (p Parameters) apiServices() []*apiService {
	var versions []schema.GroupVersion
	for _, kind := range p.kinds() {
		versions = append(versions, kind.GroupVersion())
	}
	var all []*apiService
	for _, version := range slices.Compact(versions) {
		all = append(all, &apiService{
			TypeMeta: metav1.TypeMeta{APIVersion: "apiregistration.k8s.io/v1", Kind: "APIService"},
			ObjectMeta: metav1.ObjectMeta{
				Name:   version.Version + "." + version.Group,
				Labels: labelled(map[string]string{componentLabel: registration, automanagedLabel: "false"}),
			},
			Spec: apiServiceSpec{
				Group: version.Group, Version: version.Version,
				GroupPriorityMinimum: GroupPriorityMinimum, VersionPriority: VersionPriority,
				Service:  serviceReference{Namespace: p.Namespace, Name: p.Service, Port: p.HTTPSPort},
				CABundle: p.CABundle,
			},
		})
	}
	return all
}

// resourcesByGroup returns the resources of kinds, each group's sorted by name.
func resourcesByGroup(kinds []registry.Kind) (groups []string, resources map[string][]string) {
	resources = map[string][]string{}
	for _, kind := range kinds {
		group := kind.GroupVersionKind.Group
		if resources[group] == nil {
			groups = append(groups, group)
		}
		resources[group] = append(resources[group], kind.Resource)
		slices.Sort(resources[group])
	}
	return groups, resources
}
