// Copyright 2026 The Docket Authors.
// SPDX-License-Identifier: Apache-2.0

package runner

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"golang.org/x/sync/errgroup"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	utilrand "k8s.io/apimachinery/pkg/util/rand"
	"k8s.io/client-go/rest"
)

const (
	// DefaultTimeout is the time that a check has.
	DefaultTimeout = 45 * time.Second
	// DefaultParallel is how many checks run at a time.
	DefaultParallel = 16
	// startTime limits what is asked before the first check.
	startTime = 20 * time.Second
	// lifeTime is how long a server may take for a sign of life.
	lifeTime = 10 * time.Second
)

// errServerAway is why checks are undecided that could not begin.
var errServerAway = errors.New("the server has stopped answering")

// Options of a run. Config, GroupVersion and Checks are required.
type Options struct {
	Config       *rest.Config
	GroupVersion schema.GroupVersion
	// Resources are those to check; none means all of the group version.
	Resources []string
	// Samples are objects to be made like, at most one for a kind.
	Samples []*unstructured.Unstructured
	Checks  []Check
	// Skip and Only have identifiers of checks; with Only, all others are skipped.
	Skip, Only []string
	// Namespace is one that exists; if empty, the run makes its own.
	Namespace string
	// Timeout is that of each check; 0 means [DefaultTimeout].
	Timeout time.Duration
	// Parallel is how many checks run at a time; 0 means [DefaultParallel].
	Parallel int
	// UserAgent is the header of all requests.
	UserAgent string
	// Wrap, if not nil, wraps the transports of the run, inside what adds credentials.
	Wrap func(http.RoundTripper) http.RoundTripper
	// Planned, if not nil, gets the number of results to come; Finished is called for each one.
	Planned  func(total int)
	Finished func()
}

// CheckID returns an error unless the id is that of one of the checks.
func (o *Options) CheckID(id string) error {
	if slices.ContainsFunc(o.Checks, func(c Check) bool { return c.ID == id }) {
		return nil
	}
	return fmt.Errorf("there is no check %q; `docket conformance list` shows them", id)
}

func (o *Options) complete() error {
	if o.Config == nil || len(o.Checks) == 0 {
		return errors.New("conformance: options: Config and Checks are required")
	}
	if o.GroupVersion.Version == "" {
		return errors.New("conformance: options: GroupVersion is required, as in apps/v1 or v1")
	}
	for _, id := range slices.Concat(o.Skip, o.Only) {
		if err := o.CheckID(id); err != nil {
			return err
		}
	}
	if o.Timeout == 0 {
		o.Timeout = DefaultTimeout
	}
	if o.Parallel == 0 {
		o.Parallel = DefaultParallel
	}
	if o.Planned == nil {
		o.Planned = func(int) {}
	}
	if o.Finished == nil {
		o.Finished = func() {}
	}
	return nil
}

// run is one run.
type run struct {
	options   Options
	client    *client
	id        string
	rooms     *rooms
	resources []*Resource
	hasCore   bool
	report    *Report
	// stop ends all checks.
	stop context.CancelCauseFunc

	// probes counts those that were given an id.
	probes atomic.Int64

	mu sync.Mutex // for report
}

// Run runs the checks and removes what they have made, also if ctx is done before. The error says
// why they could not begin.
func Run(ctx context.Context, options Options) (*Report, error) {
	if err := options.complete(); err != nil {
		return nil, err
	}
	client, err := newClient(options.Config, options.UserAgent, options.Wrap)
	if err != nil {
		return nil, err
	}
	r := &run{options: options, client: client, id: "dc-" + utilrand.String(5)}
	r.report = &Report{Server: client.base.Redacted(), GroupVersion: options.GroupVersion.String(), Started: time.Now()}
	if err := r.start(ctx); err != nil {
		return nil, err
	}
	running, stop := context.WithCancelCause(ctx)
	defer stop(nil)
	r.stop = stop
	err = r.rooms.open(running)
	if err == nil || !r.namespaced() {
		r.tryObjects(running)
		r.runAll(running)
		err = nil
	}
	r.report.Interrupted = ctx.Err() != nil
	r.report.Left = r.cleanUp(ctx)
	r.report.Duration = time.Since(r.report.Started)
	r.sortResults()
	if err != nil {
		for _, left := range r.report.Left {
			err = fmt.Errorf("%w; left behind: run `kubectl delete %s`", err, left)
		}
	}
	return r.report, err
}

// start finds out what there is to check.
func (r *run) start(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, startTime)
	defer cancel()
	for _, step := range []func(context.Context) error{r.findResources, r.findCore, r.makeMakers} {
		if err := step(ctx); err != nil {
			return err
		}
	}
	r.rooms = &rooms{client: r.client, run: r.id, given: r.options.Namespace, hasCore: r.hasCore}
	for _, resource := range r.resources {
		r.report.Resources = append(r.report.Resources, resource.Name)
		r.rooms.accounts = r.rooms.accounts || resource.GroupVersion.Group == "" && resource.Name == "pods"
	}
	return nil
}

func (r *run) namespaced() bool {
	return slices.ContainsFunc(r.resources, func(resource *Resource) bool { return resource.Namespaced })
}

// tryObjects finds out of which resources objects can be made.
func (r *run) tryObjects(ctx context.Context) {
	for _, resource := range r.resources {
		if resource.readOnly != "" || !resource.Has("create", "get", "list", "delete") {
			continue
		}
		limited, cancel := context.WithTimeout(ctx, r.options.Timeout)
		err := r.tryObject(limited, resource)
		cancel()
		var left *LeftOut
		var setup *SetupError
		switch {
		case err == nil || ctx.Err() != nil:
			continue
		case errors.As(err, &left):
			resource.readOnly = left.Reason
			continue
		}
		trouble := Trouble{Resource: resource.Name, Reason: err.Error()}
		resource.readOnly = "no object of the resource could be made"
		if errors.As(err, &setup) {
			trouble.Reason, trouble.Exchange = r.refusal(resource, setup), setup.Exchange
		}
		if resource.tried {
			resource.readOnly = "no object of the resource could be made and deleted"
		}
		r.report.Troubles = append(r.report.Troubles, trouble)
	}
}

// refusal says why an object is refused, as far as that can be known.
func (r *run) refusal(resource *Resource, setup *SetupError) string {
	if resource.tried {
		return "an object that was made can't be deleted"
	}
	if setup.Exchange.Received.Code == http.StatusNotFound && resource.Namespaced && r.options.Namespace != "" {
		return "the namespace " + r.options.Namespace + " does not exist, or the resource is not served"
	}
	return "an object made from " + resource.Maker.Origin() + " is refused; give another one with --sample"
}

func (r *run) tryObject(ctx context.Context, resource *Resource) error {
	p := r.probe(ctx, resource)
	if resource.Namespaced {
		p.Namespace = r.rooms.shared
	}
	object := p.New()
	err := Try(func() { p.Prepare("create an object", Post(p.Collection(), object)) })
	var left *LeftOut
	var setup *SetupError
	if errors.As(err, &left) || errors.As(err, &setup) {
		return err // The server has said no.
	}
	resource.tried = true
	if err != nil {
		return err
	}
	return Try(func() { p.Prepare("delete the object", Delete(p.Path(object.GetName()), DeleteNow())) })
}

// probe returns one whose id no other probe of the run has: ids that are drawn meet sooner or later.
func (r *run) probe(ctx context.Context, resource *Resource) *Probe {
	return &Probe{
		Context:      ctx,
		GroupVersion: r.options.GroupVersion, Resources: r.resources, Resource: resource,
		HasCore: r.hasCore, HasCredentials: hasCredentials(r.options.Config),
		run: r, id: r.id + "-" + strconv.FormatInt(r.probes.Add(1), 10),
	}
}

func hasCredentials(config *rest.Config) bool {
	return config.BearerToken != "" || config.BearerTokenFile != "" || config.Username != "" || config.CertFile != "" || len(config.CertData) > 0 ||
		config.ExecProvider != nil || config.AuthProvider != nil || config.WrapTransport != nil
}

// job is a check, for one resource or for none.
type job struct {
	check    *Check
	resource *Resource
}

// runAll runs all checks. Isolated ones of a resource run one after the other.
func (r *run) runAll(ctx context.Context) {
	chains := r.plan()
	total := 0
	for _, chain := range chains {
		total += len(chain)
	}
	r.options.Planned(total)
	var group errgroup.Group
	group.SetLimit(r.options.Parallel)
	for _, chain := range chains {
		group.Go(func() error {
			for _, j := range chain {
				r.keep(r.one(ctx, j))
			}
			return nil
		})
	}
	group.Wait() //nolint:errcheck // There are none.
}

func (r *run) plan() [][]job {
	var slow, quick [][]job
	isolated := map[*Resource][]job{}
	for i := range r.options.Checks {
		check := &r.options.Checks[i]
		resources := []*Resource{nil}
		if check.PerResource {
			resources = r.resources
		}
		for _, resource := range resources {
			switch j := (job{check, resource}); {
			case check.Isolated && resource != nil:
				isolated[resource] = append(isolated[resource], j)
			case check.Slow:
				slow = append(slow, []job{j})
			default:
				quick = append(quick, []job{j})
			}
		}
	}
	for _, resource := range r.resources {
		if len(isolated[resource]) > 0 {
			slow = append(slow, isolated[resource])
		}
	}
	return append(slow, quick...)
}

func (r *run) keep(result Result) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.report.Results = append(r.report.Results, result)
	r.options.Finished()
}

// one runs a check unless there is a reason not to.
func (r *run) one(ctx context.Context, j job) Result {
	begin := time.Now()
	result := Result{Check: j.check}
	if j.resource != nil {
		result.Resource = j.resource.Name
	}
	err := r.reasonAgainst(j)
	if err == nil {
		err = r.checkNow(ctx, j)
	}
	result.Duration = time.Since(begin)
	result.Outcome = outcomeOf(err)
	var setup *SetupError
	switch {
	case err == nil:
	case errors.As(err, &result.Failure):
	case errors.As(err, &setup):
		result.Reason, result.Exchange = setup.Wanted, setup.Exchange
	default:
		result.Reason = err.Error()
	}
	return result
}

// reasonAgainst returns why a check is not run.
func (r *run) reasonAgainst(j job) error {
	if slices.Contains(r.options.Skip, j.check.ID) || len(r.options.Only) > 0 && !slices.Contains(r.options.Only, j.check.ID) {
		return leftOut("not wanted")
	}
	if j.resource == nil {
		return nil
	}
	if len(j.check.Verbs) > 1 && slices.Contains(j.check.Verbs, "create") && j.resource.Has("create", "get") && !j.resource.Has("list", "delete") {
		return leftOut("what is made could not be removed: the resource has no verbs list and delete")
	}
	for _, verb := range j.check.Verbs {
		if !j.resource.Has(verb) {
			return leftOut("the resource has no verb %s", verb)
		}
		if j.resource.readOnly != "" && slices.Contains([]string{"create", "update", "patch", "delete", "deletecollection"}, verb) {
			return leftOut("%s", j.resource.readOnly)
		}
	}
	if j.check.Applies != nil {
		if reason := j.check.Applies(j.resource); reason != "" {
			return leftOut("%s", reason)
		}
	}
	return nil
}

// checkNow runs a check within its time.
func (r *run) checkNow(ctx context.Context, j job) (err error) {
	if ctx.Err() != nil {
		return r.ended(ctx)
	}
	limited, cancel := context.WithTimeout(ctx, r.options.Timeout)
	defer cancel()
	p := r.probe(limited, j.resource)
	if p.Namespace, err = r.rooms.of(limited, j.check, j.resource); err == nil {
		err = Try(func() { j.check.Run(p) })
	}
	if j.check.Isolated && ctx.Err() == nil {
		r.empty(limited, p)
	}
	switch outcome := outcomeOf(err); {
	case outcome == Failed && !r.alive(ctx):
		return r.ended(ctx) // It looked like a failure because the server was just going away.
	case outcome != Undecided:
		return err
	}
	var setup *SetupError
	switch {
	case ctx.Err() != nil:
		return r.ended(ctx)
	case errors.As(err, &setup):
		return err
	case limited.Err() != nil:
		err = fmt.Errorf("not finished after %s: %w", r.options.Timeout, err)
	}
	r.alive(ctx)
	return err
}

func (r *run) ended(ctx context.Context) error {
	if cause := context.Cause(ctx); errors.Is(cause, errServerAway) {
		return cause
	}
	return errors.New("interrupted")
}

// alive ends the run if the server does not answer any more: every check would wait for it.
func (r *run) alive(ctx context.Context) bool {
	limited, cancel := context.WithTimeout(ctx, lifeTime)
	defer cancel()
	_, err := r.client.do(limited, Get(GroupVersionPath(r.options.GroupVersion)).MayBeRefused())
	if err == nil || ctx.Err() != nil {
		return ctx.Err() == nil
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	if ctx.Err() == nil {
		r.report.Troubles = append(r.report.Troubles, Trouble{Reason: errServerAway.Error() + ": " + err.Error()})
		r.stop(errServerAway)
	}
	return false
}

// empty removes what an isolated check has left, so that the next one has the namespace for itself.
func (r *run) empty(ctx context.Context, p *Probe) {
	if p.Resource == nil || p.Namespace == "" {
		return
	}
	r.sweep(ctx, p.Resource, p.Namespace)
	for {
		response, err := r.client.do(ctx, Get(p.Collection()))
		if err != nil || !response.OK() {
			return
		}
		list, err := response.list()
		ours := func(object unstructured.Unstructured) bool { return strings.HasPrefix(object.GetName(), r.id+"-") }
		if err != nil || !slices.ContainsFunc(list.Items, ours) || pause(ctx, poll) != nil {
			return
		}
	}
}

func (r *run) sortResults() {
	place := map[string]int{}
	for i := range r.options.Checks {
		place[r.options.Checks[i].ID] = i
	}
	slices.SortStableFunc(r.report.Results, func(a, b Result) int {
		if a.Check.ID != b.Check.ID {
			return place[a.Check.ID] - place[b.Check.ID]
		}
		return slices.Index(r.report.Resources, a.Resource) - slices.Index(r.report.Resources, b.Resource)
	})
}
