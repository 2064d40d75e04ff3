// Copyright 2026 The Docket Authors.
// SPDX-License-Identifier: Apache-2.0

package source

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"reflect"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/rest"

	"github.com/docket-project/docket/internal/kit/testkit"
)

// Everything that an API may answer to a list is the same as with client-go's own client.
func TestClientIsLikeThatOfClientGo(t *testing.T) {
	t.Parallel()
	const head = `{"kind":"PodList","apiVersion":"v1","metadata":{"resourceVersion":"7","continue":"x","remainingItemCount":3}`
	for name, answer := range map[string]string{
		"kinds left out":  head + `,"items":[{"metadata":{"name":"a"},"spec":{"n":1,"f":1.5,"big":9007199254740993,"deep":[{"x":null}]}},{"metadata":{"name":"b"}}]}`,
		"kinds given":     head + `,"items":[{"kind":"Own","apiVersion":"example.com/v1","metadata":{"name":"a"}},{"kind":"Half","metadata":{"name":"b"}}]}`,
		"items first":     `{"items":[{"metadata":{"name":"a"}}],"kind":"PodList","apiVersion":"v1"}`,
		"nothing":         head + `,"items":[]}`,
		"null":            head + `,"items":null}`,
		"no items":        head + `}`,
		"no kind":         `{"apiVersion":"v1","items":[{"metadata":{"name":"a"}}]}`,
		"a status":        `{"kind":"Status","apiVersion":"v1","status":"Failure","message":"full","code":507}`,
		"no objects":      head + `,"items":[1]}`,
		"a null object":   head + `,"items":[null]}`,
		"items no list":   head + `,"items":{"a":1}}`,
		"other case":      head + `,"Items":[{"metadata":{"name":"a"}}]}`,
		"cut":             head + `,"items":[{"metadata":{"na`,
		"more after that": head + `,"items":[]} {}`,
		"empty":           "",
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
				w.Header().Set("Content-Type", "application/json")
				fmt.Fprint(w, answer)
			}))
			defer server.Close()
			config := &rest.Config{Host: server.URL}
			theirs, wantErr := listOf(t, testkit.Must(dynamic.NewForConfig(config))(t))
			ours, err := listOf(t, testkit.Must(NewClient(config))(t))
			if fmt.Sprint(err) != fmt.Sprint(wantErr) {
				t.Errorf("error %v, want %v", err, wantErr)
			}
			if !reflect.DeepEqual(ours, theirs) {
				t.Errorf("got  %v\nwant %v", ours, theirs)
			}
		})
	}
}

func listOf(t *testing.T, client dynamic.Interface) (*unstructured.UnstructuredList, error) {
	t.Helper()
	return client.Resource(schema.GroupVersionResource{Version: "v1", Resource: "pods"}).List(t.Context(), metav1.ListOptions{})
}

// A list that is decoded as client-go does takes more than twice as many allocations.
//
//nolint:paralleltest // Those of the whole process are counted.
func TestClientDecodesOnce(t *testing.T) {
	data := []byte(`{"kind":"PodList","apiVersion":"v1","items":[{"metadata":{"name":"a","labels":{"a":"b","c":"d"}},"spec":{"x":[{"y":1},{"z":"2"}]}}]}`)
	allocations := func(config *rest.Config) float64 {
		decoder := config.NegotiatedSerializer.SupportedMediaTypes()[0].Serializer
		return testing.AllocsPerRun(20, func() {
			_, _, err := decoder.Decode(data, nil, &unstructured.UnstructuredList{})
			testkit.NoError(t, err)
		})
	}
	theirs := dynamic.ConfigFor(&rest.Config{})
	ours := dynamic.ConfigFor(&rest.Config{})
	ours.NegotiatedSerializer = decoders{ours.NegotiatedSerializer}
	if got, usual := allocations(ours), allocations(theirs); 2*got > usual {
		t.Errorf("%v allocations, client-go has %v", got, usual)
	}
}
