// Copyright 2026 The Docket Authors.
// SPDX-License-Identifier: Apache-2.0

package objects

import (
	"cmp"
	"slices"
	"strings"
	"sync"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/version"
	"k8s.io/client-go/kubernetes/scheme"

	"github.com/docket-project/docket/controller/internal/cluster/served"
)

const (
	definitions              = "apiextensions.k8s.io"
	customResourceDefinition = "CustomResourceDefinition"
)

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
	"kyverno.io":                   {"CachedContextEntry", "GlobalContextEntry"},
	"networking.k8s.io":            {"IngressClass", "IPAddress", "ServiceCIDR"},
	"node.k8s.io":                  {"RuntimeClass"},
	"policies.kyverno.io":          {"ValidatingPolicy", "MutatingPolicy", "GeneratingPolicy", "DeletingPolicy", "ImageValidatingPolicy"},
	"policy":                       {"PodSecurityPolicy"},
	"project.openshift.io":         {"Project", "ProjectRequest"},
	"resource.k8s.io":              {"DeviceClass", "ResourceSlice"},
	"scheduling.k8s.io":            {"PriorityClass"},
	"storage.k8s.io":               {"StorageClass", "CSIDriver", "CSINode", "VolumeAttachment", "VolumeAttributesClass"},
}

// builtIn are the kinds that kube-apiserver serves in stable versions, the latest version of each first.
var builtIn = sync.OnceValue(func() []served.Resource {
	kinds := []schema.GroupVersionKind{
		{Group: definitions, Version: "v1", Kind: customResourceDefinition}, {Group: "apiregistration.k8s.io", Version: "v1", Kind: "APIService"},
	}
	for kind, is := range scheme.Scheme.AllKnownTypes() {
		_, isObject := is.FieldByName("ObjectMeta")
		if isObject && !strings.ContainsAny(kind.Version, "ab_") && scheme.Scheme.Recognizes(kind.GroupVersion().WithKind(kind.Kind+"List")) {
			kinds = append(kinds, kind)
		}
	}
	slices.SortFunc(kinds, func(a, b schema.GroupVersionKind) int {
		return cmp.Or(cmp.Compare(a.Group, b.Group), cmp.Compare(a.Kind, b.Kind), version.CompareKubeAwareVersionStrings(b.Version, a.Version))
	})
	resources := make([]served.Resource, len(kinds))
	for i, kind := range kinds {
		resources[i] = guess(kind)
	}
	return resources
})

// isBuiltIn reports whether a group is one of kube-apiserver's own, whose versions differ in more than their names.
func isBuiltIn(group string) bool {
	return slices.ContainsFunc(builtIn(), func(r served.Resource) bool { return r.Group == group })
}

func resourceOf(kind schema.GroupVersionKind, plural string, namespaced bool) served.Resource {
	return served.Resource{
		GroupVersionResource: kind.GroupVersion().WithResource(plural), Kind: kind.Kind, Namespaced: namespaced, Listable: true, Watchable: true,
	}
}

// KindsOf returns what there is beside a list of objects: what a cluster serves, what the CustomResourceDefinitions in
// the list define, and what every cluster has. The plurals and scopes of all other kinds in the list are guessed as
// kubectl does without a cluster: a kind is namespaced unless its name begins with Cluster.
func KindsOf(list []*unstructured.Unstructured, cluster *served.Catalog) *served.Catalog {
	var defined, guessed []served.Resource
	kinds := map[schema.GroupVersionKind]bool{}
	for _, object := range list {
		kind := object.GroupVersionKind()
		kinds[kind] = true
		if kind.Group == definitions && kind.Kind == customResourceDefinition {
			defined = append(defined, definedBy(object)...)
		}
	}
	known := cluster.With(defined).With(builtIn())
	for kind := range kinds {
		like, ok := known.Find(func(r *served.Resource) bool { return r.Group == kind.Group && r.Kind == kind.Kind })
		if !ok {
			like = guess(kind)
		}
		guessed = append(guessed, resourceOf(kind, like.Resource, like.Namespaced))
	}
	slices.SortFunc(guessed, func(a, b served.Resource) int {
		return cmp.Or(cmp.Compare(a.Group, b.Group), cmp.Compare(a.Kind, b.Kind), version.CompareKubeAwareVersionStrings(b.Version, a.Version))
	})
	return known.With(guessed)
}

// definedBy returns the versions of a kind that a CustomResourceDefinition defines. An incomplete one defines nothing.
func definedBy(definition *unstructured.Unstructured) []served.Resource {
	text := func(fields ...string) string {
		value, _, err := unstructured.NestedString(definition.Object, append([]string{"spec"}, fields...)...)
		if err != nil {
			return ""
		}
		return value
	}
	kind, plural := schema.GroupVersionKind{Group: text("group"), Version: text("version"), Kind: text("names", "kind")}, text("names", "plural")
	if kind.Kind == "" || plural == "" {
		return nil
	}
	var found []served.Resource
	versions, _, _ := unstructured.NestedSlice(definition.Object, "spec", "versions")
	for _, one := range versions {
		fields, _ := one.(map[string]any)
		if name, _ := fields["name"].(string); name != "" && fields["served"] != false {
			kind.Version = name
			found = append(found, resourceOf(kind, plural, text("scope") != "Cluster"))
		}
	}
	if len(versions) == 0 { // Its objects say the version, if it does not.
		found = append(found, resourceOf(kind, plural, text("scope") != "Cluster"))
	}
	slices.SortFunc(found, func(a, b served.Resource) int { return version.CompareKubeAwareVersionStrings(b.Version, a.Version) })
	return found
}

// guess returns the resource of a kind as it is in most cases.
func guess(kind schema.GroupVersionKind) served.Resource {
	return resourceOf(kind, Plural(kind.Kind), !slices.Contains(clusterScoped[kind.Group], kind.Kind) && !startsWithCluster(kind.Kind))
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
