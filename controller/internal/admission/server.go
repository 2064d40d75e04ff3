// Copyright 2026 The Docket Authors.
// SPDX-License-Identifier: Apache-2.0

package admission

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	admissionv1 "k8s.io/api/admission/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/klog/v2"

	"github.com/docket-project/docket/api/report"
	"github.com/docket-project/docket/controller/internal/admission/handoff"
	"github.com/docket-project/docket/controller/internal/cluster/source"
	"github.com/docket-project/docket/controller/internal/policy"
)

// tick is how often the server checks whether policies read roles.
const tick = time.Second

// Server is the admission webhook of a replica, without TLS. Make one with [NewServer].
type Server struct {
	config   Config
	excluded policy.Exclusion
	sender   *handoff.Sender
	// announcer is nil if there are no Events about denials.
	announcer  *announcer
	namespaces *namespaces
	// webhooks has the two webhooks by path.
	webhooks map[string]*webhook

	current atomic.Pointer[index]
	// building is held while an index is made.
	building sync.Mutex
	// bindings are nil until a policy reads roles.
	bindings atomic.Pointer[[]*bindings]
}

// NewServer returns a server that knows nothing until [Server.Run].
func NewServer(config Config) *Server {
	config.complete()
	s := &Server{
		config: config, excluded: policy.NeverReviewed(config.Exclude...), announcer: newAnnouncer(&config),
		sender:     handoff.NewSender(handoff.SenderConfig{Client: config.Client, Capacity: config.QueueLength, Clock: config.Clock}),
		namespaces: newNamespaces(config.Client, config.Clock),
	}
	s.webhooks = map[string]*webhook{PathFail: newWebhook(s, true), PathIgnore: newWebhook(s, false)}
	return s
}

// Handler returns the handler of [PathFail] and [PathIgnore].
func (s *Server) Handler() http.Handler {
	mux := http.NewServeMux()
	for path, w := range s.webhooks {
		mux.Handle(path, w)
	}
	return mux
}

// Run keeps what requests need up to date until ctx is done, and then hands over queued results, within a bounded
// time. End it after the last request: later results are dropped.
func (s *Server) Run(ctx context.Context) error {
	s.namespaces.source.Start(ctx, s.namespaces)
	defer s.namespaces.source.Stop()
	var group sync.WaitGroup
	group.Go(func() { s.followRoles(ctx) })
	group.Go(func() { s.announcer.run(ctx) })
	err := s.sender.Run(ctx)
	group.Wait()
	return err
}

// followRoles watches role bindings until ctx is done, once a policy reads roles.
func (s *Server) followRoles(ctx context.Context) {
	ticker := s.config.Clock.NewTicker(tick)
	defer ticker.Stop()
	for {
		if x := s.index(); x != nil && x.roles {
			break
		}
		select {
		case <-ctx.Done():
			return
		case <-ticker.C():
		}
	}
	var all []*bindings
	for _, resource := range bindingResources {
		b := newBindings()
		b.source = source.New(source.Config{Resource: resource, Client: s.config.Client, Clock: s.config.Clock, Changed: func(err error) {
			if err != nil {
				klog.FromContext(ctx).Error(err, "Roles of users may not be known")
			}
		}})
		b.source.Start(ctx, b)
		all = append(all, b)
	}
	s.bindings.Store(&all)
	<-ctx.Done()
	for _, b := range all {
		b.source.Stop()
	}
}

// Ready returns what is missing before requests can be answered; nil if nothing is.
func (s *Server) Ready() error {
	x := s.index()
	if x == nil {
		return errors.New("waits for the policies of the cluster")
	}
	if listed, err := s.namespaces.source.State(); !listed {
		return errors.Join(errors.New("waits for the list of namespaces"), err)
	}
	if !x.roles {
		return nil
	}
	all := s.bindings.Load()
	if all == nil {
		return errors.New("waits for role bindings")
	}
	for _, b := range *all {
		if !b.source.Decided() {
			return fmt.Errorf("waits for the list of %s", b.source.Resource().GroupResource())
		}
	}
	return nil
}

// index returns the index of the current policies; nil if they are not known.
func (s *Server) index() *index {
	policies, catalog := s.config.Policies(), s.config.Catalogs.Current()
	if policies == nil {
		return nil
	}
	if x := s.current.Load(); x.same(policies, catalog) {
		return x
	}
	s.building.Lock()
	defer s.building.Unlock()
	// Another request may have made it meanwhile, or a newer one.
	policies, catalog = s.config.Policies(), s.config.Catalogs.Current()
	x := s.current.Load()
	if !x.same(policies, catalog) {
		x = newIndex(policies, catalog, s.excluded, s.config.All)
		s.current.Store(x)
	}
	return x
}

// moment says when a request came, and until when it is evaluated and waited for.
type moment struct {
	begin               time.Time
	evaluating, waiting context.Context //nolint:containedctx // Two contexts of one call.
}

// review evaluates a request. It returns an error if the request is invalid.
func (s *Server) review(at moment, x *index, request *admissionv1.AdmissionRequest, w *webhook, slot *requestSlot) (*admissionv1.AdmissionResponse, error) {
	m := x.match(request, w.closed)
	candidates := slices.DeleteFunc(slices.Clone(m.reviewed), func(c candidate) bool { return !c.inNamespace(request) })
	if len(candidates) == 0 && len(m.cleared) == 0 {
		return &admissionv1.AdmissionResponse{UID: request.UID, Allowed: true}, nil
	}
	parsed, err := parseObjects(request)
	if err != nil {
		return nil, err
	}
	parsed.Roles = s.rolesOf(request)
	var findings []finding
	if err := s.showNamespace(at.evaluating, parsed); err != nil {
		findings = allFailed(candidates, err)
	} else if len(candidates) > 0 {
		slot.hold()
		findings = evaluate(at.evaluating, at.waiting, parsed, at.begin, candidates, slot.release)
	}
	for i := range findings {
		if slices.ContainsFunc(findings[i].verdicts, func(v policy.Verdict) bool { return v.Outcome == report.OutcomeError }) {
			policyErrors.WithLabelValues(w.name).Inc()
		}
	}
	response := answer(parsed, findings)
	if !response.Allowed {
		s.announcer.denied(parsed, findings)
	}
	// If the client has gone away, policies were interrupted, and their results are not complete.
	if response.Allowed && !errors.Is(at.waiting.Err(), context.Canceled) {
		if err := s.handOver(parsed, m, findings, at.begin); err != nil {
			return nil, err
		}
	}
	return response, nil
}

// allFailed returns the findings if something is missing that all policies need.
func allFailed(candidates []candidate, err error) []finding {
	findings := make([]finding, len(candidates))
	for i := range candidates {
		findings[i] = finding{candidate: candidates[i], verdicts: []policy.Verdict{failure(&candidates[i], err)}}
	}
	return findings
}

// showNamespace adds the namespace that a request is in, or the one that it is about.
func (s *Server) showNamespace(ctx context.Context, request *policy.Request) error {
	var namespace *corev1.Namespace
	var err error
	if !isNamespace(request.AdmissionRequest) {
		namespace, err = s.namespaces.of(ctx, request.Namespace)
	} else if subject := request.Subject(); subject != nil {
		namespace, err = policy.NamespaceOf(subject)
	}
	if err != nil || namespace == nil {
		return err
	}
	request.NamespaceLabels = namespace.Labels
	if namespace != none {
		request.NamespaceObject = namespace
	}
	return nil
}

// rolesOf returns a function that finds the roles of the user, once, when the first policy reads them.
func (s *Server) rolesOf(request *admissionv1.AdmissionRequest) func() (roles, clusterRoles []string, err error) {
	type answer struct{ roles, clusterRoles []string }
	once := sync.OnceValues(func() (answer, error) {
		var all []*bindings
		if known := s.bindings.Load(); known != nil {
			all = *known
		}
		roles, clusterRoles, err := rolesOf(all, &request.UserInfo, request.Namespace)
		return answer{roles, clusterRoles}, err
	})
	return func() ([]string, []string, error) {
		a, err := once()
		return a.roles, a.clusterRoles, err
	}
}
