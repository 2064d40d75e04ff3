// Copyright 2026 The Docket Authors.
// SPDX-License-Identifier: Apache-2.0

package aggregator_test

import (
	"encoding/json"
	"net/http"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/docket-project/docket/internal/kit/testkit"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/discovery"
	apiregistration "k8s.io/kube-aggregator/pkg/apis/apiregistration/v1"
)

// TestRegisteredServerIsServed: an APIService makes a server available, listed in both forms
// of discovery with its address, and healthy.
func TestRegisteredServerIsServed(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	b := w.serving(t, "wardle.example.com/v1")
	client, err := discovery.NewDiscoveryClientForConfig(w.config)
	testkit.NoError(t, err)
	testkit.Settles(t, func() string {
		lists, err := client.ServerPreferredResources()
		if err != nil {
			return err.Error()
		}
		for _, list := range lists {
			if list.GroupVersion == b.gv && len(list.APIResources) == 1 && list.APIResources[0].Kind == "Widget" {
				return ""
			}
		}
		return "not listed"
	})
	code, body, _ := w.get(t, "/apis/wardle.example.com", "Accept", "application/json")
	var group metav1.APIGroup
	if err := json.Unmarshal([]byte(body), &group); err != nil || code != http.StatusOK {
		t.Fatalf("%d %s", code, body)
	}
	want := strings.TrimPrefix(b.URL, "https://")
	if got := group.ServerAddressByClientCIDRs; len(got) != 1 || got[0].ServerAddress != want || got[0].ClientCIDR != "0.0.0.0/0" {
		t.Errorf("address %v, want %s", got, want)
	}
	_, body, _ = w.get(t, "/apis", "Accept", "application/json")
	var list metav1.APIGroupList
	testkit.NoError(t, json.Unmarshal([]byte(body), &list))
	if len(list.Groups) != 3 || list.Groups[0].Name != "apiregistration.k8s.io" || list.Groups[1].ServerAddressByClientCIDRs[0].ServerAddress != self {
		t.Errorf("groups %+v", list.Groups)
	}
	for _, accept := range []string{"application/vnd.kubernetes.protobuf", "application/yaml"} {
		if code, _, header := w.get(t, "/apis", "Accept", accept); code != http.StatusOK || header.Get("Content-Type") != accept {
			t.Errorf("%s: %d %s", accept, code, header.Get("Content-Type"))
		}
	}
}

// TestEachVersionHasAnAddress: versions of one group on several servers are listed with the
// address of each, whether it answers or not; discovery has room for one.
func TestEachVersionHasAnAddress(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	want := map[string]string{"apiextensions.k8s.io/v1": "https://" + self + "/apis/apiextensions.k8s.io/v1"}
	for _, gv := range []string{"who.example.com/v1", "who.example.com/v2"} {
		want[gv] = w.serving(t, gv).URL + "/apis/" + gv
	}
	dead := newBackend(t, w, "who.example.com/v3", echoHost)
	service := dead.service()
	dead.Close()
	_, err := w.client.ApiregistrationV1().APIServices().Create(t.Context(), service, metav1.CreateOptions{})
	testkit.NoError(t, err)
	w.available(t, service.Name, apiregistration.ConditionFalse)
	want[dead.gv] = dead.URL + "/apis/" + dead.gv
	testkit.Settles(t, func() string { // What is served here has its APIService a moment later.
		_, body, _ := w.get(t, "/apiservers")
		if !strings.Contains(body, "apiextensions") {
			return body
		}
		return ""
	})
	code, body, _ := w.get(t, "/apiservers", "Accept", "application/json")
	var list []struct {
		Name, GroupVersion, URL, ServerName string
		Available                           bool
	}
	if err := json.Unmarshal([]byte(body), &list); err != nil || code != http.StatusOK {
		t.Fatalf("%d %s", code, body)
	}
	got := map[string]string{}
	for _, s := range list {
		got[s.GroupVersion] = s.URL
		if remote := strings.HasPrefix(s.GroupVersion, "who."); remote != (s.ServerName == echoHost) || s.Available != (s.GroupVersion != dead.gv) {
			t.Errorf("%+v", s)
		}
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
	if _, body, _ := w.get(t, "/apiservers"); !strings.Contains(body, "who.example.com/v2 "+want["who.example.com/v2"]+"\n") {
		t.Errorf("as text: %s", body)
	}
	if code, _, _ := w.get(t, "/apiservers/nothing"); code != http.StatusNotFound {
		t.Errorf("another path: %d", code)
	}
}

// TestRemovedServerIsGone: nothing of a server is left when its APIService is deleted.
func TestRemovedServerIsGone(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	b := w.serving(t, "wardle.example.com/v1")
	testkit.NoError(t, w.client.ApiregistrationV1().APIServices().Delete(t.Context(), b.service().Name, metav1.DeleteOptions{}))
	testkit.Settles(t, func() string {
		code, body, _ := w.get(t, "/apis/"+b.gv)
		if code != http.StatusNotFound {
			return body
		}
		for _, accept := range []string{"application/json", "application/json;g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList"} {
			if _, body, _ := w.get(t, "/apis", "Accept", accept); strings.Contains(body, "wardle") {
				return body
			}
		}
		return ""
	})
}

// TestLocalRegistrations: what SetLocals names is listed at once, gets an APIService, and
// loses it again.
func TestLocalRegistrations(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	service, err := w.client.ApiregistrationV1().APIServices().Get(t.Context(), "v1.apiextensions.k8s.io", metav1.GetOptions{})
	testkit.Settles(t, func() string {
		service, err = w.client.ApiregistrationV1().APIServices().Get(t.Context(), "v1.apiextensions.k8s.io", metav1.GetOptions{})
		if err != nil {
			return err.Error()
		}
		return ""
	})
	if service.Spec.Service != nil || service.Labels["kube-aggregator.kubernetes.io/automanaged"] != "true" || service.Spec.GroupPriorityMinimum != 16700 {
		t.Errorf("%+v", service)
	}
	w.aggregator.SetLocals("core", nil)
	testkit.Settles(t, func() string {
		if _, err := w.client.ApiregistrationV1().APIServices().Get(t.Context(), "v1.apiextensions.k8s.io", metav1.GetOptions{}); err == nil {
			return "still there"
		}
		return ""
	})
}

// TestHealthz: text and JSON, all and one, with the status code that monitoring looks at.
func TestHealthz(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.serving(t, "good.example.com/v1")
	testkit.Settles(t, func() string {
		code, body, _ := w.get(t, "/apiservers/healthz")
		if code != http.StatusOK || !strings.Contains(body, "[+]v1.good.example.com ok\n") || !strings.Contains(body, "[+]v1.apiextensions.k8s.io ok\n") ||
			!strings.HasSuffix(body, "healthz check passed\n") {
			return body
		}
		return ""
	})
	bad := newBackend(t, w, "bad.example.com/v1", echoHost)
	service := bad.service()
	bad.CloseClientConnections()
	bad.Close()
	_, err := w.client.ApiregistrationV1().APIServices().Create(t.Context(), service, metav1.CreateOptions{})
	testkit.NoError(t, err)
	w.available(t, service.Name, apiregistration.ConditionFalse)
	code, body, _ := w.get(t, "/apiservers/healthz")
	if code != http.StatusServiceUnavailable || !strings.Contains(body, "[-]v1.bad.example.com failed: FailedDiscoveryCheck: the server can't connect to ") ||
		!strings.HasSuffix(body, "healthz check failed\n") {
		t.Errorf("%d %s", code, body)
	}
	for _, request := range [][]string{{"/apiservers/healthz", "Accept", "application/json"}, {"/apiservers/healthz?format=json"}} {
		code, body, _ := w.get(t, request[0], request[1:]...)
		var list []struct {
			Name, Service, Reason, LastTransitionTime string
			Available, Local                          bool
		}
		if err := json.Unmarshal([]byte(body), &list); err != nil || code != http.StatusServiceUnavailable {
			t.Fatalf("%d %s", code, body)
		}
		if len(list) != 3 || list[1].Service != "default/echo" || list[1].Available || list[1].LastTransitionTime == "" || !list[0].Local || !list[2].Available {
			t.Errorf("%+v", list)
		}
	}
	testkit.Settles(t, func() string {
		_, body, _ := w.get(t, "/apiservers/healthz/v1.good.example.com?format=json")
		if !strings.Contains(body, `"openAPI":"Read"`) {
			return body
		}
		return ""
	})
	if code, _, _ := w.get(t, "/apiservers/healthz/v1.good.example.com"); code != http.StatusOK {
		t.Errorf("one good server: %d", code)
	}
	if code, body, _ := w.get(t, "/apiservers/healthz/v1.none"); code != http.StatusNotFound || status(t, body).Reason != metav1.StatusReasonNotFound {
		t.Errorf("no such server: %d %s", code, body)
	}
}

// TestRegistrationsOutliveARestart: what was registered is served again by another aggregator on
// the same database, and local APIServices are not recreated.
func TestRegistrationsOutliveARestart(t *testing.T) {
	t.Parallel()
	folder := t.TempDir()
	first := newWorldIn(t, folder)
	b := first.serving(t, "wardle.example.com/v1")
	first.available(t, "v1.apiextensions.k8s.io", apiregistration.ConditionTrue)
	before, err := first.client.ApiregistrationV1().APIServices().Get(t.Context(), "v1.apiextensions.k8s.io", metav1.GetOptions{})
	testkit.NoError(t, err)
	first.stop()
	second := newWorldIn(t, folder)
	second.available(t, "v1.wardle.example.com", apiregistration.ConditionTrue)
	if code, body, _ := second.get(t, "/apis/"+b.gv+"/echo"); code != http.StatusOK {
		t.Errorf("%d %s", code, body)
	}
	after, err := second.client.ApiregistrationV1().APIServices().Get(t.Context(), "v1.apiextensions.k8s.io", metav1.GetOptions{})
	testkit.NoError(t, err)
	if before.UID != after.UID {
		t.Error("the local APIService was deleted and made anew")
	}
}

// TestMetrics: what the aggregator counts is there, by the names that alerts use.
func TestMetrics(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	b := w.serving(t, "metrics.example.com/v1")
	if code, body, _ := w.get(t, "/apis/"+b.gv+"/echo"); code != http.StatusOK {
		t.Fatalf("%d %s", code, body)
	}
	_, body, _ := w.get(t, "/metrics")
	for _, want := range []string{
		`docket_aggregator_apiservice_available{apiservice="v1.metrics.example.com"} 1`,
		`docket_aggregator_probes_total{reason="Passed"} `,
		`docket_aggregator_proxied_requests_total{code="200"} `,
	} {
		if !strings.Contains(body, want) {
			t.Errorf("no %s", want)
		}
	}
}
