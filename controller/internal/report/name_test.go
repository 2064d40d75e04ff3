// Copyright 2026 The Docket Authors.
// SPDX-License-Identifier: Apache-2.0

package report

import (
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/util/validation"

	"github.com/docket-project/docket/controller/internal/policy"
)

// seeded returns a generator whose failures can be repeated.
func seeded(seed uint64) *rand.Rand { return rand.New(rand.NewPCG(seed, 5)) }

func TestNames(t *testing.T) {
	t.Parallel()
	cluster := func(name string) policy.Identity { return policy.Identity{Kind: policy.ClusterPolicy, Name: name} }
	for _, test := range []struct {
		id        policy.Identity
		namespace string
		chunk     int
		want      string
	}{
		{cluster("require-labels"), "default", 0, "polr-ns-default-require-labels"},
		{cluster("require-labels"), "", 0, "clusterpolicyreport-require-labels"},
		{noPolicy, "default", 0, "polr-ns-default"},
		{noPolicy, "", 0, "clusterpolicyreport"},
		{noPolicy, "abcdef0123", 0, "polr-ns-abcdef0123"},
		{noPolicy, "default", 1, "polr-ns-default-…"},
		{cluster("a.b"), "default", 0, "polr-ns-default-a.b"},
		{cluster("a"), "default", 1, "polr-ns-default-a-…"},
		{cluster("0123456789"), "default", 0, "polr-ns-default-0123456789-…"},
		{cluster("a-0123456789"), "default", 0, "polr-ns-default-a-0123456789-…"},
		{cluster("a.0123456789"), "default", 0, "polr-ns-default-a.0123456789"},
		{cluster("a0123456789"), "default", 0, "polr-ns-default-a0123456789"},
		{policy.Identity{Kind: policy.NamespacedPolicy, Namespace: "default", Name: "a"}, "default", 0, "polr-ns-default-a-…"},
		{policy.Identity{Kind: policy.ValidatingPolicy, Name: "a"}, "default", 0, "polr-ns-default-a-…"},
		{cluster(strings.Repeat("a", 253)), "default", 0, "polr-ns-default-" + strings.Repeat("a", 226) + "-…"},
		{cluster(strings.Repeat("a", 225) + ".-.b" + strings.Repeat("c", 20)), "default", 0, "polr-ns-default-" + strings.Repeat("a", 225) + "-…"},
	} {
		got := reportName("", test.id, test.namespace, test.chunk)
		want, hashed := strings.CutSuffix(test.want, "…")
		if hashed && (!strings.HasPrefix(got, want) || len(got) != len(want)+suffixLength || !looksHashed(got)) || !hashed && got != want {
			t.Errorf("chunk %d of %s in %q is %q, want %q", test.chunk, test.id, test.namespace, got, test.want)
		}
		if again := reportName("", test.id, test.namespace, test.chunk); again != got {
			t.Errorf("%q and %q are names of one report", got, again)
		}
	}
}

// nameSource makes names that are apt to clash: of few letters, with hashes of other names.
type nameSource struct {
	*rand.Rand
	known []string
}

func (s *nameSource) name(limit int) string {
	var text strings.Builder
	length := 1 + s.IntN(4)
	if s.IntN(8) == 0 {
		length = 1 + s.IntN(limit)
	}
	for range length {
		text.WriteByte("ab0.-"[s.IntN(5)])
	}
	name := text.String()
	if len(s.known) > 0 && s.IntN(3) == 0 { // Ends like another report's name.
		other := s.known[s.IntN(len(s.known))]
		name += "-" + other[max(0, len(other)-suffixLength):]
	}
	name = name[max(0, len(name)-limit):]
	if len(validation.IsDNS1123Subdomain(name)) > 0 {
		return s.name(limit)
	}
	return name
}

// TestNamesAreUniqueAndValid: two different reports of one namespace never share a name.
func TestNamesAreUniqueAndValid(t *testing.T) {
	t.Parallel()
	random := &nameSource{Rand: seeded(1)}
	kinds := []string{policy.ClusterPolicy, policy.NamespacedPolicy, policy.ValidatingPolicy, policy.NamespacedValidatingPolicy, ""}
	for _, namespace := range []string{"", "a", "a-b", "0123456789", strings.Repeat("n", 63)} {
		names := map[string]string{}
		random.known = nil
		for range 20000 {
			id := policy.Identity{Kind: kinds[random.IntN(len(kinds))]}
			if id.Kind != "" {
				id.Name = random.name(253)
			}
			if id.Kind == policy.NamespacedPolicy || id.Kind == policy.NamespacedValidatingPolicy {
				if id.Namespace = namespace; namespace == "" {
					continue
				}
			}
			chunk := random.IntN(3)
			checkName(t, names, id, namespace, chunk)
			random.known = append(random.known, reportName("", id, namespace, chunk))
		}
	}
}

func checkName(t *testing.T, names map[string]string, id policy.Identity, namespace string, chunk int) {
	t.Helper()
	name := reportName("", id, namespace, chunk)
	if errs := validation.IsDNS1123Subdomain(name); len(errs) > 0 {
		t.Fatalf("the name %q of %s in %q is invalid: %v", name, id, namespace, errs)
	}
	about := fmt.Sprintf("chunk %d of %s", chunk, id)
	if other, ok := names[name]; ok && other != about {
		t.Fatalf("%q is the name of %s and of %s in %q", name, other, about, namespace)
	}
	names[name] = about
}

func FuzzNames(f *testing.F) {
	f.Add("a", "b", "default", uint8(0), uint8(1), uint8(3))
	f.Add("a", "a-0123456789", "default", uint8(0), uint8(0), uint8(0))
	f.Fuzz(func(t *testing.T, one, two, namespace string, kindOne, kindTwo, chunks uint8) {
		if len(validation.IsDNS1123Label(namespace)) > 0 {
			t.Skip() // No namespace has such a name.
		}
		names := map[string]string{}
		kinds := []string{policy.ClusterPolicy, policy.NamespacedPolicy, policy.ValidatingPolicy, policy.NamespacedValidatingPolicy}
		for i, name := range []string{one, two} {
			if len(validation.IsDNS1123Subdomain(name)) > 0 {
				t.Skip() // No policy has such a name.
			}
			id := policy.Identity{Kind: kinds[[]uint8{kindOne, kindTwo}[i]%4], Name: name}
			if strings.HasPrefix(id.Kind, "Namespaced") || id.Kind == policy.NamespacedPolicy {
				id.Namespace = namespace
			}
			for chunk := range int(chunks % 4) {
				checkName(t, names, id, namespace, chunk)
			}
		}
	})
}

func TestLabelsAreValid(t *testing.T) {
	t.Parallel()
	for _, name := range []string{"a", strings.Repeat("a", 63), strings.Repeat("a", 64), strings.Repeat("a.", 126) + "b", strings.Repeat("a", 51) + "..-" + strings.Repeat("a", 20)} {
		g := &group{key: groupKey{owner: newPolicyState(policy.Identity{Kind: policy.NamespacedPolicy, Namespace: "n", Name: name}), namespace: "n"}}
		labels, _ := (&chunk{group: g}).marks()
		for key, value := range labels {
			if errs := validation.IsValidLabelValue(value); len(errs) > 0 {
				t.Errorf("label %s has the value %q: %v", key, value, errs)
			}
		}
		if len(name) <= 63 && labels[PolicyNameLabel] != name {
			t.Errorf("the label of %q says %q", name, labels[PolicyNameLabel])
		}
	}
}
