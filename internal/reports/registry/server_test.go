// Copyright 2026 The Docket Authors.
// SPDX-License-Identifier: Apache-2.0

package registry

import (
	"encoding/json"
	"io"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"

	generatedopenapi "k8s.io/apiextensions-apiserver/pkg/generated/openapi"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/runtime/serializer"
	"k8s.io/apiserver/pkg/authorization/authorizerfactory"
	openapinamer "k8s.io/apiserver/pkg/endpoints/openapi"
	"k8s.io/apiserver/pkg/registry/generic"
	genericapiserver "k8s.io/apiserver/pkg/server"
	"k8s.io/apiserver/pkg/storage/etcd3/testserver"
	"k8s.io/apiserver/pkg/storage/storagebackend"
	"k8s.io/client-go/rest"
	basecompatibility "k8s.io/component-base/compatibility"

	"github.com/docket-project/docket/internal/kit/testkit"
	"github.com/docket-project/docket/internal/reports/kinds"
	"github.com/docket-project/docket/internal/store/etcdstore/etcdtest"
)

// etcdOptions gives every kind the stock storage on an embedded etcd: what is
// tested here is the registry, and that storage is the reference.
type etcdOptions struct {
	transport storagebackend.TransportConfig
}

func (o etcdOptions) GetRESTOptions(resource schema.GroupResource, _ runtime.Object) (generic.RESTOptions, error) {
	config := storagebackend.NewDefaultConfig("/docket", nil)
	config.Transport = o.transport
	config.EventsHistoryWindow = 0
	return generic.RESTOptions{
		StorageConfig:           config.ForResource(resource),
		Decorator:               generic.UndecoratedStorage,
		EnableGarbageCollection: true,
		DeleteCollectionWorkers: 1,
		ResourcePrefix:          resource.Group + "/" + resource.Resource,
	}, nil
}

// testServer serves all groups without authentication.
type testServer struct {
	url string
}

func newTestServer(t *testing.T) *testServer {
	t.Helper()
	scheme := runtime.NewScheme()
	testkit.NoError(t, kinds.AddUnversionedTypes(scheme))
	codecs := serializer.NewCodecFactory(scheme)
	options := etcdOptions{}
	options.transport.ServerList = testserver.RunEtcd(t, etcdtest.NewConfig(t)).Endpoints()

	config := genericapiserver.NewConfig(codecs)
	config.Authorization.Authorizer = authorizerfactory.NewAlwaysAllowAuthorizer()
	config.EffectiveVersion = basecompatibility.NewEffectiveVersionFromString("1.36", "", "")
	config.ExternalAddress = "127.0.0.1:443"
	config.LoopbackClientConfig = &rest.Config{}
	namer := openapinamer.NewDefinitionNamer(scheme)
	config.OpenAPIConfig = genericapiserver.DefaultOpenAPIConfig(generatedopenapi.GetOpenAPIDefinitions, namer)
	config.OpenAPIV3Config = genericapiserver.DefaultOpenAPIV3Config(generatedopenapi.GetOpenAPIDefinitions, namer)
	config.SkipOpenAPIInstallation = true
	server := testkit.Must(config.Complete(nil).New("registry-test", genericapiserver.NewEmptyDelegate()))(t)
	t.Cleanup(server.Destroy)
	served := NewServer(server, config, func(Kind) generic.RESTOptionsGetter { return options })
	testkit.NoError(t, served.Serve(Kinds()))
	prepared := server.PrepareRun()
	listener := httptest.NewServer(prepared.Handler)
	t.Cleanup(listener.Close)
	return &testServer{url: listener.URL}
}

// answer is the response to one request.
type answer struct {
	code   int
	header http.Header
	body   string
}

// field returns the value at a path of object keys and list indexes, or nil.
func (a answer) field(t *testing.T, path ...any) any {
	t.Helper()
	var value any
	if err := json.Unmarshal([]byte(a.body), &value); err != nil {
		t.Fatalf("answer is not JSON: %v\n%s", err, a.body)
	}
	for _, step := range path {
		switch key := step.(type) {
		case string:
			object, _ := value.(map[string]any)
			value = object[key]
		case int:
			list, _ := value.([]any)
			if key >= len(list) {
				return nil
			}
			value = list[key]
		}
	}
	return value
}

// want fails the test unless the answer has the given code.
func (a answer) want(t *testing.T, code int) answer {
	t.Helper()
	if a.code != code {
		t.Fatalf("code is %d, want %d: %s", a.code, code, a.body)
	}
	return a
}

// request sends one request; headers are pairs of name and value.
func (s *testServer) request(t *testing.T, method, path, body string, headers ...string) answer {
	t.Helper()
	request := testkit.Must(http.NewRequestWithContext(t.Context(), method, s.url+path, strings.NewReader(body)))(t)
	request.Header.Set("Content-Type", "application/json")
	for pair := range slices.Chunk(headers, 2) {
		request.Header.Set(pair[0], pair[1])
	}
	response, err := http.DefaultClient.Do(request)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = response.Body.Close() }()
	content := testkit.Must(io.ReadAll(response.Body))(t)
	return answer{code: response.StatusCode, header: response.Header, body: string(content)}
}
