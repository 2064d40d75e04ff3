// Copyright 2026 The Docket Authors.
// SPDX-License-Identifier: Apache-2.0

package admission

import (
	"context"
	"fmt"
	"os"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	typedcorev1 "k8s.io/client-go/kubernetes/typed/core/v1"
	"k8s.io/client-go/util/flowcontrol"
	"k8s.io/klog/v2"
	"k8s.io/utils/clock"

	"github.com/docket-project/docket/controller/internal/admission/handoff"
	"github.com/docket-project/docket/controller/internal/policy"
)

// Fields of Events about denied requests that programs read. They are the same as in Kyverno 1.19: programs that
// look for denials, such as the Kyverno plugin of policy-reporter, select Events by reason, type and source, and
// parse the message.
const (
	denialSource = "kyverno-admission"
	denialReason = "PolicyViolation"
	denialAction = "Resource Blocked"
	maxNote      = 1024
)

const (
	// eventRate and eventBurst bound what a replica sends, so that a client whose requests keep being denied
	// can't fill the cluster's storage.
	eventRate  = 5
	eventBurst = 50
	// eventQueue is the number of Events that can wait for the API.
	eventQueue   = 200
	eventTimeout = 10 * time.Second
	// maxEventName leaves room for the timestamp after the name of a policy.
	maxEventName = 230
)

// announcer sends Events about denied requests to their policies. Requests never wait for it: Events beyond its
// limits are dropped and counted.
type announcer struct {
	client typedcorev1.EventsGetter
	about  func(policy.Identity) (corev1.ObjectReference, bool)
	clock  clock.PassiveClock
	rate   flowcontrol.PassiveRateLimiter
	queue  chan *corev1.Event
	// instance is the name of the replica.
	instance string
}

// newAnnouncer returns an announcer; nil if there are to be no Events.
func newAnnouncer(config *Config) *announcer {
	if config.Events == nil || config.About == nil {
		return nil
	}
	host, err := os.Hostname()
	if err != nil {
		host = "unknown" // Only people read it.
	}
	return &announcer{
		client: config.Events, about: config.About, clock: config.Clock, instance: "docket-controller-" + host,
		rate:  flowcontrol.NewTokenBucketPassiveRateLimiterWithClock(eventRate, eventBurst, config.Clock),
		queue: make(chan *corev1.Event, eventQueue),
	}
}

// denied queues an Event for each rule that denies a request. It returns at once. As in Kyverno, there are no
// Events for objects without a name and for dry runs.
func (a *announcer) denied(request *policy.Request, findings []finding) {
	subject := request.Subject()
	if a == nil || subject == nil || subject.GetName() == "" || request.DryRun != nil && *request.DryRun {
		return
	}
	related := &corev1.ObjectReference{
		APIVersion: subject.GetAPIVersion(), Kind: subject.GetKind(), Namespace: namespaceOf(request.AdmissionRequest),
		Name: subject.GetName(), UID: subject.GetUID(),
	}
	for i := range findings {
		f := &findings[i]
		for j := range f.verdicts {
			if f.verdicts[j].Deny {
				a.announce(f.id, related, &f.verdicts[j].Result)
			}
		}
	}
}

func (a *announcer) announce(id policy.Identity, related *corev1.ObjectReference, result *policy.Result) {
	if !a.rate.TryAccept() {
		eventsTotal.WithLabelValues(eventDropped).Inc()
		return
	}
	regarding, ok := a.about(id)
	if !ok {
		return // The policy no longer exists.
	}
	select {
	case a.queue <- a.event(&regarding, related, result):
	default:
		eventsTotal.WithLabelValues(eventDropped).Inc()
	}
}

func (a *announcer) event(regarding, related *corev1.ObjectReference, result *policy.Result) *corev1.Event {
	now := a.clock.Now()
	namespace := regarding.Namespace
	if namespace == "" {
		namespace = metav1.NamespaceDefault // Where Events about cluster-scoped objects are.
	}
	name := strings.TrimRight(regarding.Name[:min(len(regarding.Name), maxEventName)], "-.")
	return &corev1.Event{
		ObjectMeta:     metav1.ObjectMeta{Name: fmt.Sprintf("%s.%x", name, now.UnixNano()), Namespace: namespace},
		InvolvedObject: *regarding, Related: related,
		Type: corev1.EventTypeWarning, Reason: denialReason, Action: denialAction, Message: note(related, result),
		EventTime: metav1.NewMicroTime(now), ReportingController: denialSource, ReportingInstance: a.instance,
	}
}

// note returns the message "KIND NAMESPACE/NAME: [RULE] OUTCOME (blocked); MESSAGE".
func note(related *corev1.ObjectReference, result *policy.Result) string {
	text := related.Kind + " "
	if related.Namespace != "" {
		text += related.Namespace + "/"
	}
	text += related.Name + ": "
	if result.Rule != "" {
		text += "[" + result.Rule + "] "
	}
	text += string(result.Outcome) + " (blocked)"
	if result.Message != "" {
		text += "; " + result.Message
	}
	return handoff.Cut(text, maxNote)
}

// run sends Events until ctx is done.
func (a *announcer) run(ctx context.Context) {
	if a == nil {
		return
	}
	for {
		select {
		case <-ctx.Done():
			return
		case event := <-a.queue:
			result := eventSent
			if err := a.send(ctx, event); err != nil {
				result = eventFailed
				klog.FromContext(ctx).V(1).Info("An Event about a denied request was not taken", "policy", event.InvolvedObject.Name, "err", err)
			}
			eventsTotal.WithLabelValues(result).Inc()
		}
	}
}

func (a *announcer) send(ctx context.Context, event *corev1.Event) error {
	ctx, cancel := context.WithTimeout(ctx, eventTimeout)
	defer cancel()
	_, err := a.client.Events(event.Namespace).Create(ctx, event, metav1.CreateOptions{})
	return err
}
