// Copyright 2026 The Docket Authors.
// SPDX-License-Identifier: Apache-2.0

package aggregator_test

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	apiextensions "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	apiextensionsserver "k8s.io/apiextensions-apiserver/pkg/apiserver"
	apiextensionsclient "k8s.io/apiextensions-apiserver/pkg/client/clientset/clientset"
	apiextensionsopenapi "k8s.io/apiextensions-apiserver/pkg/generated/openapi"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apiserver/pkg/admission"
	"k8s.io/apiserver/pkg/authentication/authenticator"
	"k8s.io/apiserver/pkg/authentication/request/bearertoken"
	"k8s.io/apiserver/pkg/authentication/request/union"
	"k8s.io/apiserver/pkg/authentication/request/websocket"
	"k8s.io/apiserver/pkg/authentication/token/tokenfile"
	"k8s.io/apiserver/pkg/authentication/user"
	"k8s.io/apiserver/pkg/authorization/authorizerfactory"
	"k8s.io/apiserver/pkg/endpoints/discovery/aggregated"
	genericfilters "k8s.io/apiserver/pkg/endpoints/filters"
	openapinamer "k8s.io/apiserver/pkg/endpoints/openapi"
	genericapiserver "k8s.io/apiserver/pkg/server"
	genericoptions "k8s.io/apiserver/pkg/server/options"
	"k8s.io/apiserver/pkg/util/compatibility"
	"k8s.io/apiserver/pkg/util/notfoundhandler"
	"k8s.io/apiserver/pkg/util/webhook"
	clientscheme "k8s.io/client-go/kubernetes/scheme"
	"k8s.io/client-go/rest"
	apiregistration "k8s.io/kube-aggregator/pkg/apis/apiregistration/v1"
	"k8s.io/kube-aggregator/pkg/apis/apiregistration/v1/helper"
	"k8s.io/kube-aggregator/pkg/client/clientset_generated/clientset"

	"github.com/docket-project/docket/internal/kit/certificate"
	"github.com/docket-project/docket/internal/kit/testenv"
	"github.com/docket-project/docket/internal/kit/testkit"
	"github.com/docket-project/docket/internal/plane/aggregator"
	"github.com/docket-project/docket/internal/store"
	"github.com/docket-project/docket/internal/store/database"
)

const (
	patience  = testkit.Patience
	userToken = "token-of-alice"
	self      = "docket.example:6443"
)

// world is an aggregator before a server of custom resources, on a real port and database.
type world struct {
	config     *rest.Config
	aggregator *aggregator.Aggregator
	client     clientset.Interface
	custom     apiextensionsclient.Interface
	authority  *certificate.Pair // Of the proxy's client certificate.
	stop       func()
}

type option func(*aggregator.Config)

func newWorld(t testing.TB, options ...option) *world {
	t.Helper()
	return newWorldIn(t, t.TempDir(), options...)
}

// newWorldIn keeps the database and the authority of the proxy in folder.
func newWorldIn(t testing.TB, folder string, options ...option) *world {
	t.Helper()
	w := &world{}
	ctx, cancel := context.WithCancel(context.Background())
	engine, err := database.Open(t.Context(), "sqlite://"+filepath.Join(folder, "docket.db"), database.Options{Cluster: "test"})
	testkit.NoError(t, err)
	storeCtx, stopStore := context.WithCancel(context.Background())
	kept, err := store.New(storeCtx, store.Options{Engine: engine})
	testkit.NoError(t, err)
	stored := make(chan error, 1)
	go func() { stored <- kept.Run(storeCtx) }()
	now := time.Now()
	w.authority = proxyAuthority(t, folder)
	pair, err := certificate.NewClient(w.authority, "docket-proxy", now, time.Hour)
	testkit.NoError(t, err)
	certFile, keyFile := filepath.Join(t.TempDir(), "proxy.crt"), filepath.Join(t.TempDir(), "proxy.key")
	testkit.NoError(t, os.WriteFile(certFile, pair.CertificatePEM, 0o600))
	testkit.NoError(t, os.WriteFile(keyFile, pair.KeyPEM, 0o600))

	manager := aggregated.NewResourceManager("apis")
	base := newBase(t, manager)
	late := &lateAdmission{}
	customConfig := copyOf(base)
	customConfig.AdmissionControl = late
	custom := newCustom(t, customConfig, kept)
	c := aggregator.Config{
		Generic: copyOf(base), Storage: kept.ObjectsGetter, Delegate: custom.GenericAPIServer,
		ProxyCertFile: certFile, ProxyKeyFile: keyFile,
		Resolver: aggregator.NewResolver(aggregator.ResolverConfig{}), Self: self,
	}
	for _, o := range options {
		o(&c)
	}
	w.aggregator, err = c.New()
	testkit.NoError(t, err)
	plugin := w.aggregator.Admission()
	late.Interface.Store(&plugin)
	if c.Upstream == nil {
		w.aggregator.SetLocals("core", []aggregator.Local{{GroupVersion: apiextensions.SchemeGroupVersion, GroupPriorityMinimum: 16700, VersionPriority: 15}})
		w.aggregator.WatchCRDs(custom.Informers.Apiextensions().V1().CustomResourceDefinitions())
	}
	prepared, err := w.aggregator.PrepareRun()
	testkit.NoError(t, err)
	done := make(chan error, 1)
	go func() { done <- prepared.RunWithContext(ctx) }()
	w.stop = sync.OnceFunc(func() {
		cancel()
		select {
		case err := <-done:
			if err != nil {
				t.Errorf("aggregator: %v", err)
			}
		case <-time.After(patience):
			t.Error("the aggregator does not end")
		}
		stopStore()
		if err := errors.Join(<-stored, engine.Close()); err != nil {
			t.Errorf("store: %v", err)
		}
	})
	t.Cleanup(func() { w.stop() })
	w.config = rest.CopyConfig(base.LoopbackClientConfig)
	w.config.QPS = -1
	w.client, err = clientset.NewForConfig(w.config)
	testkit.NoError(t, err)
	w.custom, err = apiextensionsclient.NewForConfig(w.config)
	testkit.NoError(t, err)
	testkit.Settles(t, func() string {
		if code, body, _ := w.get(t, "/readyz"); code != http.StatusOK {
			return fmt.Sprintf("readyz: %d %s", code, body)
		}
		return ""
	})
	return w
}

// proxyAuthority is the same for each use of folder.
func proxyAuthority(t testing.TB, folder string) *certificate.Pair {
	t.Helper()
	certFile, keyFile := filepath.Join(folder, "ca.crt"), filepath.Join(folder, "ca.key")
	if certPEM, err := os.ReadFile(certFile); err == nil {
		keyPEM, err := os.ReadFile(keyFile)
		testkit.NoError(t, err)
		pair, err := certificate.Parse(certPEM, keyPEM)
		testkit.NoError(t, err)
		return pair
	}
	pair, err := certificate.NewAuthority("proxy", time.Now(), time.Hour)
	testkit.NoError(t, err)
	testkit.NoError(t, os.WriteFile(keyFile, pair.KeyPEM, 0o600))
	testkit.NoError(t, os.WriteFile(certFile, pair.CertificatePEM, 0o600))
	return pair
}

func newBase(t testing.TB, manager aggregated.ResourceManager) *genericapiserver.RecommendedConfig {
	t.Helper()
	base := genericapiserver.NewRecommendedConfig(apiextensionsserver.Codecs)
	base.EffectiveVersion = compatibility.DefaultBuildEffectiveVersion()
	base.AggregatedDiscoveryGroupManager = manager
	base.RequestTimeout = 8 * time.Second
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	testkit.NoError(t, err)
	serving := genericoptions.NewSecureServingOptions().WithLoopback()
	serving.Listener, serving.BindPort = listener, listener.Addr().(*net.TCPAddr).Port
	serving.BindAddress = net.IPv4(127, 0, 0, 1)
	serving.ServerCert.CertDirectory = ""
	testkit.NoError(t, serving.MaybeDefaultWithSelfSignedCerts("127.0.0.1", nil, []net.IP{net.IPv4(127, 0, 0, 1)}))
	testkit.NoError(t, serving.ApplyTo(&base.SecureServing, &base.LoopbackClientConfig))
	tokens := tokenfile.New(map[string]*user.DefaultInfo{
		userToken: {Name: "alice", UID: "u-1", Groups: []string{"dev"}, Extra: map[string][]string{"example.com/team": {"red"}}},
	})
	base.Authentication.Authenticator = union.New(bearertoken.New(tokens), websocket.NewProtocolAuthenticator(tokens))
	base.Authentication.APIAudiences = authenticator.Audiences{"test"}
	base.Authorization.Authorizer = authorizerfactory.NewAlwaysAllowAuthorizer()
	return base
}

func copyOf(base *genericapiserver.RecommendedConfig) *genericapiserver.RecommendedConfig {
	c := *base
	c.PostStartHooks = map[string]genericapiserver.PostStartHookConfigEntry{}
	return &c
}

func newCustom(t testing.TB, config *genericapiserver.RecommendedConfig, kept *store.Store) *apiextensionsserver.CustomResourceDefinitions {
	t.Helper()
	config.RESTOptionsGetter = kept.ObjectsGetter(apiextensionsserver.Codecs.LegacyCodec(apiextensions.SchemeGroupVersion))
	config.MergedResourceConfig = apiextensionsserver.DefaultAPIResourceConfigSource()
	namer := openapinamer.NewDefinitionNamer(apiextensionsserver.Scheme, clientscheme.Scheme)
	config.OpenAPIConfig = genericapiserver.DefaultOpenAPIConfig(apiextensionsopenapi.GetOpenAPIDefinitions, namer)
	config.OpenAPIV3Config = genericapiserver.DefaultOpenAPIV3Config(apiextensionsopenapi.GetOpenAPIDefinitions, namer)
	server, err := (&apiextensionsserver.Config{
		GenericConfig: config,
		ExtraConfig: apiextensionsserver.ExtraConfig{
			CRDRESTOptionsGetter: kept.ObjectsGetter(unstructured.UnstructuredJSONScheme), MasterCount: 1,
			ServiceResolver:     webhook.NewDefaultServiceResolver(),
			AuthResolverWrapper: webhook.NewDefaultAuthenticationInfoResolverWrapper(nil, nil, config.LoopbackClientConfig, config.TracerProvider),
		},
	}).Complete().New(genericapiserver.NewEmptyDelegateWithCustomHandler(
		notfoundhandler.New(apiextensionsserver.Codecs, genericfilters.NoMuxAndDiscoveryIncompleteKey)))
	testkit.NoError(t, err)
	return server
}

// lateAdmission is what a caller has for the servers that are built before the aggregator.
type lateAdmission struct {
	Interface atomic.Pointer[admission.Interface]
}

func (l *lateAdmission) Handles(admission.Operation) bool { return l.Interface.Load() != nil }

func (l *lateAdmission) Validate(ctx context.Context, a admission.Attributes, o admission.ObjectInterfaces) error {
	return (*l.Interface.Load()).(admission.ValidationInterface).Validate(ctx, a, o)
}

// transport is that of user alice, or of the loopback client for an empty token.
func (w *world) httpClient(t testing.TB, token string) *http.Client {
	t.Helper()
	c := rest.CopyConfig(w.config)
	if token != "" {
		c.BearerToken = token
	}
	client, err := rest.HTTPClientFor(c)
	testkit.NoError(t, err)
	client.CheckRedirect = func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }
	return client
}

func (w *world) get(t testing.TB, path string, headers ...string) (int, string, http.Header) {
	t.Helper()
	return w.as(t, "", path, headers...)
}

func (w *world) as(t testing.TB, token, path string, headers ...string) (int, string, http.Header) {
	t.Helper()
	r, err := http.NewRequestWithContext(t.Context(), http.MethodGet, w.config.Host+path, nil)
	testkit.NoError(t, err)
	for i := 0; i < len(headers); i += 2 {
		r.Header.Add(headers[i], headers[i+1])
	}
	answer, err := w.httpClient(t, token).Do(r)
	if err != nil {
		return 0, err.Error(), nil
	}
	defer func() { _ = answer.Body.Close() }()
	body, err := io.ReadAll(answer.Body)
	if err != nil {
		return answer.StatusCode, err.Error(), answer.Header
	}
	return answer.StatusCode, string(body), answer.Header
}

// backend is an extension server for one group version.
type backend struct {
	*httptest.Server
	gv        string
	authority *certificate.Pair
	mux       *http.ServeMux
	list      atomic.Pointer[http.HandlerFunc] // In place of the resource list.
}

// newBackend starts a server with a certificate for host that trusts the proxy of w.
func newBackend(t testing.TB, w *world, gv, host string) *backend {
	t.Helper()
	b := &backend{gv: gv, mux: http.NewServeMux()}
	var err error
	b.authority, err = certificate.NewAuthority("backend", time.Now(), time.Hour)
	testkit.NoError(t, err)
	b.mux.HandleFunc("/apis/"+gv, func(rw http.ResponseWriter, r *http.Request) {
		if handler := b.list.Load(); handler != nil {
			(*handler)(rw, r)
			return
		}
		writeJSON(rw, metav1.APIResourceList{
			TypeMeta: metav1.TypeMeta{Kind: "APIResourceList", APIVersion: "v1"}, GroupVersion: gv,
			APIResources: []metav1.APIResource{{Name: "widgets", SingularName: "widget", Namespaced: true, Kind: "Widget", Verbs: metav1.Verbs{"get", "list", "watch"}}},
		})
	})
	b.mux.HandleFunc("/apis/"+gv+"/echo", func(rw http.ResponseWriter, r *http.Request) { writeJSON(rw, r.Header) })
	b.start(t, w, host)
	return b
}

// start serves on another port than before.
func (b *backend) start(t testing.TB, w *world, host string) {
	t.Helper()
	pair, err := certificate.NewServing(b.authority, []string{host}, time.Now(), time.Hour)
	testkit.NoError(t, err)
	serving, err := tls.X509KeyPair(pair.CertificatePEM, pair.KeyPEM)
	testkit.NoError(t, err)
	proxies := x509.NewCertPool()
	proxies.AddCert(w.authority.Certificate)
	// Nobody else gets the port once this server is closed.
	listener, err := net.Listen("tcp", fmt.Sprintf("127.0.0.1:%d", testenv.FreePort(t)))
	testkit.NoError(t, err)
	b.Server = &httptest.Server{Listener: listener, Config: &http.Server{Handler: b.mux}}
	b.TLS = &tls.Config{MinVersion: tls.VersionTLS13, Certificates: []tls.Certificate{serving}, ClientAuth: tls.RequireAndVerifyClientCert, ClientCAs: proxies}
	b.EnableHTTP2 = true
	b.StartTLS()
	server := b.Server
	t.Cleanup(func() { server.CloseClientConnections(); server.Close() })
}

func (b *backend) service() *apiregistration.APIService {
	group, version, _ := strings.Cut(b.gv, "/")
	return &apiregistration.APIService{
		ObjectMeta: metav1.ObjectMeta{Name: version + "." + group, Annotations: map[string]string{aggregator.EndpointAnnotation: b.URL}},
		Spec: apiregistration.APIServiceSpec{
			Group: group, Version: version, GroupPriorityMinimum: 1000, VersionPriority: 10, CABundle: b.authority.CertificatePEM,
			Service: &apiregistration.ServiceReference{Namespace: "default", Name: "echo"},
		},
	}
}

const echoHost = "echo.default.svc"

func (w *world) register(t testing.TB, b *backend) {
	t.Helper()
	_, err := w.client.ApiregistrationV1().APIServices().Create(t.Context(), b.service(), metav1.CreateOptions{})
	testkit.NoError(t, err)
}

// available waits until the condition of an APIService is as wanted, and returns its text.
func (w *world) available(t testing.TB, name string, want apiregistration.ConditionStatus) string {
	t.Helper()
	text, said := "", ""
	testkit.Settles(t, func() string {
		service, err := w.client.ApiregistrationV1().APIServices().Get(t.Context(), name, metav1.GetOptions{})
		if err != nil {
			return err.Error()
		}
		c := helper.GetAPIServiceConditionByType(service, apiregistration.Available)
		if c == nil || c.Status != want {
			return fmt.Sprintf("%s: %v", name, service.Status.Conditions)
		}
		text, said = c.Reason+": "+c.Message, " ok\n"
		if want != apiregistration.ConditionTrue {
			said = " failed: " + c.Reason // And not that it doesn't know the APIService.
		}
		return ""
	})
	// The proxy follows the same watch as everybody.
	testkit.Settles(t, func() string {
		if code, body, _ := w.get(t, "/apiservers/healthz/"+name); !strings.Contains(body, said) {
			return fmt.Sprint(code, body)
		}
		return ""
	})
	return text
}

// serving is a server that is registered and available.
func (w *world) serving(t testing.TB, gv string) *backend {
	t.Helper()
	b := newBackend(t, w, gv, echoHost)
	w.register(t, b)
	w.available(t, b.service().Name, apiregistration.ConditionTrue)
	return b
}

func writeJSON(w http.ResponseWriter, object any) {
	w.Header().Set("Content-Type", "application/json")
	_ = json.NewEncoder(w).Encode(object) //nolint:errchkjson // A client that sees less fails the test.
}

func status(t testing.TB, body string) metav1.Status {
	t.Helper()
	var s metav1.Status
	if err := json.Unmarshal([]byte(body), &s); err != nil || s.Kind != "Status" {
		t.Fatalf("not a Status: %s", body)
	}
	return s
}
