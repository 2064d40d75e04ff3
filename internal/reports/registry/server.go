// Copyright 2026 The Docket Authors.
// SPDX-License-Identifier: Apache-2.0

package registry

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"mime"
	"net/http"
	"reflect"
	"slices"
	"strings"
	"sync"
	"sync/atomic"

	apidiscoveryv2 "k8s.io/api/apidiscovery/v2"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apiserver/pkg/endpoints/handlers/negotiation"
	"k8s.io/apiserver/pkg/endpoints/handlers/responsewriters"
	"k8s.io/apiserver/pkg/endpoints/request"
	"k8s.io/apiserver/pkg/registry/generic"
	genericapiserver "k8s.io/apiserver/pkg/server"
	"k8s.io/apiserver/pkg/warning"

	"github.com/docket-project/docket/internal/reports/kinds"
)

// Storage returns where objects of a kind are kept.
type Storage func(Kind) generic.RESTOptionsGetter

// Open opens the storages of kinds. On an error nothing stays open.
func Open(served []Kind, storage Storage) ([]*REST, error) {
	return kinds.OpenAll(served, func(kind Kind) (*REST, error) { return NewREST(kind, storage(kind)) })
}

// Server serves kinds beside what else a generic API server serves. They may change while it runs. It is safe for
// concurrent use.
type Server struct {
	generic *genericapiserver.GenericAPIServer
	config  *genericapiserver.Config
	storage Storage
	openAPI *openAPI

	// serving is held while kinds change.
	serving sync.Mutex
	groups  map[string]*mount
	// names are those of groups.
	names atomic.Pointer[[]string]
}

// mount is where a group is served, for as long as there is one of its name.
type mount struct {
	now atomic.Pointer[generation]
}

// generation is a group with the life of its watches, which end when its definitions change: clients then list again.
type generation struct {
	*group

	ctx  context.Context //nolint:containedctx // It ends the watches of the group.
	stop context.CancelFunc
}

// NewServer returns a server that serves nothing yet. config belongs to the generic server, which has everything else
// that it serves by now.
func NewServer(server *genericapiserver.GenericAPIServer, config *genericapiserver.Config, storage Storage) *Server {
	s := &Server{generic: server, config: config, storage: storage, openAPI: newOpenAPI(server, config), groups: map[string]*mount{}}
	server.RegisterDestroyFunc(s.destroy)
	return s
}

func (s *Server) destroy() {
	s.serving.Lock()
	defer s.serving.Unlock()
	for _, m := range s.groups {
		now := m.now.Load()
		now.stop()
		now.destroy()
	}
}

// Serve serves just these kinds from now on. Groups whose definitions stay are not touched. On an error everything is
// as it was.
func (s *Server) Serve(served []Kind) error {
	s.serving.Lock()
	defer s.serving.Unlock()
	wanted := map[string][]Kind{}
	for _, kind := range served {
		wanted[kind.GroupVersionKind.Group] = append(wanted[kind.GroupVersionKind.Group], kind)
	}
	made := map[string]*group{}
	for name, of := range wanted {
		if m := s.groups[name]; m != nil && sameKinds(m.now.Load().kinds, of) {
			continue
		}
		g, err := newGroup(name, of, s.storage, s.generic, s.config)
		if err != nil {
			for _, other := range made {
				other.destroy()
			}
			return fmt.Errorf("serve %s: %w", name, err)
		}
		made[name] = g
	}
	for name := range s.groups {
		if _, ok := wanted[name]; !ok {
			s.remove(name)
		}
	}
	for _, g := range made {
		s.put(g)
	}
	names := slices.Sorted(maps.Keys(s.groups))
	s.names.Store(&names)
	s.openAPI.set(s.documents())
	return nil
}

// sameKinds says whether the definitions of two kinds are the same.
func sameKinds(a, b []Kind) bool {
	return slices.EqualFunc(a, b, func(x, y Kind) bool {
		return x.GroupVersionKind == y.GroupVersionKind && (x.definition == y.definition || reflect.DeepEqual(x.definition.Spec, y.definition.Spec))
	})
}

func (s *Server) documents() []documents {
	var all []documents
	for _, m := range s.groups {
		all = append(all, m.now.Load().documents)
	}
	return all
}

// put serves a group in place of the one with its name.
func (s *Server) put(g *group) {
	ctx, stop := context.WithCancel(context.Background())
	now := &generation{g, ctx, stop}
	m, ok := s.groups[g.name]
	if !ok {
		m = &mount{}
		s.groups[g.name] = m
	}
	before := m.now.Swap(now)
	if before == nil {
		root := genericapiserver.APIGroupPrefix + "/" + g.name
		s.generic.Handler.NonGoRestfulMux.Handle(root, m)
		s.generic.Handler.NonGoRestfulMux.HandlePrefix(root+"/", m)
	} else {
		before.stop()
		before.destroy()
		for _, gv := range before.versions {
			if !slices.Contains(g.versions, gv) {
				s.generic.AggregatedDiscoveryGroupManager.RemoveGroupVersion(metav1.GroupVersion{Group: gv.Group, Version: gv.Version})
			}
		}
	}
	s.generic.DiscoveryGroupManager.AddGroup(g.discovery())
	for _, gv := range g.versions {
		s.generic.AggregatedDiscoveryGroupManager.AddGroupVersion(g.name, apidiscoveryv2.APIVersionDiscovery{
			Freshness: apidiscoveryv2.DiscoveryFreshnessCurrent, Version: gv.Version, Resources: g.resources[gv.Version],
		})
	}
}

func (s *Server) remove(name string) {
	root := genericapiserver.APIGroupPrefix + "/" + name
	s.generic.Handler.NonGoRestfulMux.Unregister(root)
	s.generic.Handler.NonGoRestfulMux.Unregister(root + "/")
	s.generic.DiscoveryGroupManager.RemoveGroup(name)
	s.generic.AggregatedDiscoveryGroupManager.RemoveGroup(name)
	now := s.groups[name].now.Load()
	delete(s.groups, name)
	now.stop()
	now.destroy()
}

// Groups returns the names of the groups that are served, in order. They are not to be changed.
func (s *Server) Groups() []string {
	if names := s.names.Load(); names != nil {
		return *names
	}
	return nil
}

// Kinds returns what is served.
func (s *Server) Kinds() []Kind {
	s.serving.Lock()
	defer s.serving.Unlock()
	var all []Kind
	for _, m := range s.groups {
		all = append(all, m.now.Load().kinds...)
	}
	return all
}

// Storages returns what serves each kind now.
func (s *Server) Storages() []*REST {
	s.serving.Lock()
	defer s.serving.Unlock()
	var all []*REST
	for _, m := range s.groups {
		all = slices.AppendSeq(all, maps.Values(m.now.Load().storages))
	}
	return all
}

// ServeHTTP implements http.Handler.
func (m *mount) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	now := m.now.Load()
	info, ok := request.RequestInfoFrom(r.Context())
	if !ok || !info.IsResourceRequest {
		now.container.Dispatch(w, r)
		return
	}
	if isStrategicMerge(r) {
		now.refusePatch(info, w, r)
		return
	}
	now.warn(info, r)
	if info.Verb == "watch" {
		ctx, end := context.WithCancel(r.Context())
		defer end()
		defer context.AfterFunc(now.ctx, end)()
		r = r.WithContext(ctx)
	}
	now.container.Dispatch(w, now.encodedRequest(r, info))
}

// warn warns about a version that is deprecated, as kube-apiserver does.
func (g *group) warn(info *request.RequestInfo, r *http.Request) {
	served, ok := g.storages[schema.GroupVersionResource{Group: g.name, Version: info.APIVersion, Resource: info.Resource}]
	if !ok || !served.kind.version().Deprecated {
		return
	}
	text := fmt.Sprintf("%s %s is deprecated", served.kind.GroupVersion(), served.kind.GroupVersionKind.Kind)
	if newer := served.kind.newer(); newer != "" {
		text += fmt.Sprintf("; use %s/%s %s", g.name, newer, served.kind.GroupVersionKind.Kind)
	}
	if said := served.kind.version().DeprecationWarning; said != nil {
		text = *said
	}
	warning.AddWarning(r.Context(), "", text)
}

// isStrategicMerge reports whether a request is a strategic merge patch, which custom
// resources don't have: its merge keys are in Go types.
func isStrategicMerge(r *http.Request) bool {
	if r.Method != http.MethodPatch {
		return false
	}
	mediaType, _, err := mime.ParseMediaType(r.Header.Get("Content-Type"))
	return err == nil && mediaType == string(types.StrategicMergePatchType)
}

// refusePatch answers as kube-apiserver does for custom resources. Clients such as
// kubectl then send a merge patch.
func (g *group) refusePatch(info *request.RequestInfo, w http.ResponseWriter, r *http.Request) {
	err := negotiation.NewUnsupportedMediaTypeError([]string{
		string(types.JSONPatchType), string(types.MergePatchType), string(types.ApplyYAMLPatchType),
	})
	version := schema.GroupVersion{Group: info.APIGroup, Version: info.APIVersion}
	responsewriters.ErrorNegotiated(err, g.serializer, version, w, r)
}

// ValidateGroups returns an error if enabled is empty or holds anything but names
// of [Groups].
func ValidateGroups(enabled []string) error { return ValidateChoice(enabled, Groups()) }

// ValidateChoice is ValidateGroups for a choice of some known groups.
func ValidateChoice(chosen, known []string) error {
	names := strings.Join(known, ", ")
	if len(chosen) == 0 {
		return fmt.Errorf("no API group is served: choose from %s", names)
	}
	var errs []error
	for _, group := range chosen {
		if !slices.Contains(known, group) {
			errs = append(errs, fmt.Errorf("API group %q is not known: choose from %s", group, names))
		}
	}
	return errors.Join(errs...)
}
