// Copyright 2026 The Docket Authors.
// SPDX-License-Identifier: Apache-2.0

package aggregator_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	corelisters "k8s.io/client-go/listers/core/v1"
	"k8s.io/client-go/tools/cache"

	"github.com/docket-project/docket/internal/kit/testkit"
	"github.com/docket-project/docket/internal/plane/aggregator"
)

// TestResolver: the table, then the Service object, and errors that tell what to do.
func TestResolver(t *testing.T) {
	t.Parallel()
	indexer := cache.NewIndexer(cache.MetaNamespaceKeyFunc, cache.Indexers{cache.NamespaceIndex: cache.MetaNamespaceIndexFunc})
	for name, spec := range map[string]corev1.ServiceSpec{
		"external": {Type: corev1.ServiceTypeExternalName, ExternalName: "host.example.com"},
		"cluster":  {Type: corev1.ServiceTypeClusterIP, ClusterIP: "10.0.0.1"},
		"six":      {Type: corev1.ServiceTypeClusterIP, ClusterIP: "fd00::1"},
		"headless": {Type: corev1.ServiceTypeClusterIP, ClusterIP: "None"},
	} {
		testkit.NoError(t, indexer.Add(&corev1.Service{ObjectMeta: metav1.ObjectMeta{Namespace: "ns", Name: name}, Spec: spec}))
	}
	table := map[string]string{"ns/table": "https://127.0.0.1:8443"}
	full := aggregator.NewResolver(aggregator.ResolverConfig{Table: table, Services: corelisters.NewServiceLister(indexer)})
	bare := aggregator.NewResolver(aggregator.ResolverConfig{})
	for _, c := range []struct {
		resolver   aggregator.Resolver
		name, want string
	}{
		{full, "table", "https://127.0.0.1:8443"},
		{full, "external", "https://host.example.com:443"},
		{full, "cluster", "https://10.0.0.1:443"},
		{full, "six", "https://[fd00::1]:443"},
		{full, "headless", "make it of type ExternalName, or set the annotation docket.dev/endpoint"},
		{full, "none", `service/none in "ns" is not present; create it`},
		{bare, "none", "https://none.ns.svc:443"},
	} {
		u, err := c.resolver.ResolveEndpoint("ns", c.name, 443)
		if err == nil && u.String() != c.want || err != nil && !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: %v, %v, want %s", c.name, u, err, c.want)
		}
	}
}

// TestReadTable: a good file is read; any other is refused with the entry that is wrong.
func TestReadTable(t *testing.T) {
	t.Parallel()
	for content, want := range map[string]string{
		"ns/a: https://127.0.0.1:1\n":          "",
		"ns/a: http://127.0.0.1:1\n":           "ns/a: the scheme is not https",
		"- x\n":                                "give lines of the form",
		strings.Repeat("# comment\n", 150_000): "more than",
	} {
		path := filepath.Join(t.TempDir(), "table.yaml")
		testkit.NoError(t, os.WriteFile(path, []byte(content), 0o600))
		table, err := aggregator.ReadTable(path)
		if want == "" && (err != nil || table["ns/a"] != "https://127.0.0.1:1") || want != "" && (err == nil || !strings.Contains(err.Error(), want)) {
			t.Errorf("%.30q: %v, %v", content, table, err)
		}
	}
}
