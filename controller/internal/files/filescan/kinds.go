// Copyright 2026 The Docket Authors.
// SPDX-License-Identifier: Apache-2.0

package filescan

import (
	"strings"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/docket-project/docket/controller/internal/files/manifest"
)

// resourceOfKind is what discovery would return for a kind.
type resourceOfKind struct {
	plural     string
	namespaced bool
}

// kinds knows the resources of kinds without a server to ask.
type kinds map[schema.GroupKind]resourceOfKind

const customResourceDefinition = "CustomResourceDefinition"

// clusterScoped lists the cluster-scoped kinds that every cluster has, and those of common extensions whose
// scope would be guessed wrongly from their names.
var clusterScoped = map[string][]string{
	"":                             {"Namespace", "Node", "PersistentVolume", "ComponentStatus"},
	"admissionregistration.k8s.io": {"ValidatingWebhookConfiguration", "MutatingWebhookConfiguration", "ValidatingAdmissionPolicy", "ValidatingAdmissionPolicyBinding", "MutatingAdmissionPolicy", "MutatingAdmissionPolicyBinding"},
	"apiextensions.k8s.io":         {customResourceDefinition},
	"apiregistration.k8s.io":       {"APIService"},
	"authentication.k8s.io":        {"TokenReview", "SelfSubjectReview"},
	"authorization.k8s.io":         {"SubjectAccessReview", "SelfSubjectAccessReview", "SelfSubjectRulesReview"},
	"certificates.k8s.io":          {"CertificateSigningRequest"},
	"flowcontrol.apiserver.k8s.io": {"FlowSchema", "PriorityLevelConfiguration"},
	"gateway.networking.k8s.io":    {"GatewayClass"},
	"karpenter.k8s.aws":            {"EC2NodeClass"},
	"karpenter.sh":                 {"NodePool", "NodeClaim", "Provisioner", "Machine"},
	"networking.k8s.io":            {"IngressClass", "IPAddress", "ServiceCIDR"},
	"node.k8s.io":                  {"RuntimeClass"},
	"policies.kyverno.io":          {"ValidatingPolicy", "MutatingPolicy", "GeneratingPolicy", "DeletingPolicy", "ImageValidatingPolicy"},
	"policy":                       {"PodSecurityPolicy"},
	"project.openshift.io":         {"Project", "ProjectRequest"},
	"resource.k8s.io":              {"DeviceClass", "ResourceSlice"},
	"scheduling.k8s.io":            {"PriorityClass"},
	"storage.k8s.io":               {"StorageClass", "CSIDriver", "CSINode", "VolumeAttachment", "VolumeAttributesClass"},
}

// newKinds returns the kinds that every cluster has and those that objects define.
func newKinds(objects []manifest.Object) kinds {
	known := kinds{}
	for group, names := range clusterScoped {
		for _, kind := range names {
			known[schema.GroupKind{Group: group, Kind: kind}] = resourceOfKind{plural: Plural(kind)}
		}
	}
	known.define(objects)
	return known
}

// Defined returns a function for the resources of the kinds that the CustomResourceDefinitions among the objects
// define. The group may be "*".
func Defined(objects []manifest.Object) func(group, kind string) []schema.GroupResource {
	known := kinds{}
	known.define(objects)
	return func(group, kind string) []schema.GroupResource {
		var out []schema.GroupResource
		for defined, resource := range known {
			if defined.Kind == kind && (group == "*" || group == defined.Group) {
				out = append(out, schema.GroupResource{Group: defined.Group, Resource: resource.plural})
			}
		}
		return out
	}
}

// define adds the kinds of the CustomResourceDefinitions among the objects. An incomplete definition is ignored.
func (k kinds) define(objects []manifest.Object) {
	for _, object := range objects {
		if object.GroupVersionKind().GroupKind() == (schema.GroupKind{Group: "apiextensions.k8s.io", Kind: customResourceDefinition}) {
			k.add(object.Unstructured)
		}
	}
}

func (k kinds) add(definition *unstructured.Unstructured) {
	text := func(fields ...string) string {
		value, _, err := unstructured.NestedString(definition.Object, append([]string{"spec"}, fields...)...)
		if err != nil {
			return ""
		}
		return value
	}
	kind := schema.GroupKind{Group: text("group"), Kind: text("names", "kind")}
	found := resourceOfKind{plural: text("names", "plural"), namespaced: text("scope") != "Cluster"}
	if kind.Kind == "" || found.plural == "" {
		return
	}
	k[kind] = found
}

// of returns the resource of a kind, known or guessed: an unknown kind is namespaced unless its name begins
// with Cluster.
func (k kinds) of(kind schema.GroupVersionKind) (schema.GroupVersionResource, bool) {
	found, ok := k[kind.GroupKind()]
	if !ok {
		found = resourceOfKind{plural: Plural(kind.Kind), namespaced: !startsWithCluster(kind.Kind)}
	}
	return kind.GroupVersion().WithResource(found.plural), found.namespaced
}

// startsWithCluster is true for ClusterRole and false for Clusters and Cluster.
func startsWithCluster(kind string) bool {
	rest, ok := strings.CutPrefix(kind, "Cluster")
	return ok && rest != "" && strings.ToLower(rest[:1]) != rest[:1]
}

// Plural guesses the name of a kind's resource by the same rules as Kubernetes.
func Plural(kind string) string {
	name := strings.ToLower(kind)
	last := name[max(0, len(name)-1):]
	switch {
	case name == "endpoints", strings.HasSuffix(name, "metrics"):
		return name
	case last == "s", last == "x", strings.HasSuffix(name, "ch"), strings.HasSuffix(name, "sh"):
		return name + "es"
	case last == "y" && len(name) > 1 && !strings.ContainsAny(name[len(name)-2:len(name)-1], "aeiou"):
		return name[:len(name)-1] + "ies"
	default:
		return name + "s"
	}
}
