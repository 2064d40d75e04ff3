// Copyright 2026 The Docket Authors.
// SPDX-License-Identifier: Apache-2.0

package webhook

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"
	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/util/retry"
	"k8s.io/klog/v2"
	"k8s.io/utils/ptr"

	"github.com/docket-project/docket/controller/internal/cluster/broadcast"
)

const (
	// gather is how long changes are collected: at the start policies arrive one by one.
	gather = 500 * time.Millisecond
	// contestWindow is how long a change by others slows down our own writes.
	contestWindow = time.Minute
	// retryInterval is the time after which a failed reconciliation is retried.
	retryInterval = 5 * time.Second
	// requestTime bounds requests for the configuration.
	requestTime = 15 * time.Second
	// eventNotRegistered and eventBundleMissing are reasons of Events on the configuration.
	eventNotRegistered = "NotRegistered"
	eventBundleMissing = "BundleMissing"
)

var (
	errForeign = errors.New("it exists and is not docket-controller's: it has not the label app.kubernetes.io/name=docket-controller; delete it and apply the manifests again")
	errMissing = errors.New("it does not exist, so nobody is asked about requests and nothing is denied; the controller may fill it in, not make it: apply the manifests again, with helm upgrade or kubectl apply -k")
	errWaiting = errors.New("requests can't be answered yet")
	errBundle  = errors.New("cert-manager has not written its caBundle, so kube-apiserver trusts no replica, and nothing is denied (failurePolicy Ignore)")
	errDropped = errors.New("the API server does not keep all fields; it is too old for matchConditions")
)

// Registrar keeps a ValidatingWebhookConfiguration right.
type Registrar struct {
	config RegistrarConfig
	// trigger starts another reconciliation.
	trigger *broadcast.Trigger
	// absent has an error while the configuration is missing.
	absent atomic.Pointer[error]

	// written is what was written last, and answered what the API server made of it: if the server
	// drops fields, writing the same once more is useless. Only Run's goroutine uses them.
	written, answered *admissionregistrationv1.ValidatingWebhookConfiguration
	// contested counts recent changes by others, and contestedAt is the time of the last one.
	contested   int
	contestedAt time.Time
}

// NewRegistrar returns one that does nothing until [Registrar.Run].
func NewRegistrar(config RegistrarConfig) *Registrar {
	config.complete()
	return &Registrar{config: config, trigger: broadcast.NewTrigger()}
}

// Run keeps the configuration right until ctx is done. Errors are logged, counted, and
// retried. The configuration stays when Run ends: another replica may take over.
func (r *Registrar) Run(ctx context.Context) error {
	for _, subscribe := range r.config.Subscribe {
		defer subscribe(r.trigger.Fire)()
	}
	var watching sync.WaitGroup
	defer watching.Wait()
	watch, stop := context.WithCancel(ctx)
	defer stop()
	watching.Go(func() { r.watch(watch) })
	defer ruleCount.Reset()
	defer bundleMissing.Set(0)

	for last := ""; ; {
		err := r.reconcile(ctx)
		if ctx.Err() != nil {
			return nil
		}
		last = r.report(ctx, err, last)
		if !r.wait(ctx, r.nextLook(err)) {
			return nil
		}
	}
}

func (r *Registrar) nextLook(err error) time.Duration {
	if err != nil {
		return min(retryInterval, r.config.Interval)
	}
	return r.config.Interval
}

// report counts an error, and logs it if it says something new.
func (r *Registrar) report(ctx context.Context, err error, last string) string {
	if err == nil {
		return ""
	}
	reason := reasonAPI
	switch {
	case errors.Is(err, errForeign):
		reason = reasonForeign
	case errors.Is(err, errMissing):
		reason = reasonMissing
	case errors.Is(err, errWaiting):
		reason = reasonWaiting
	case errors.Is(err, errBundle):
		reason = reasonBundle
	case errors.Is(err, errDropped):
		reason = reasonDropped
	}
	configurationErrors.WithLabelValues(reason).Inc()
	text, logger := err.Error(), klog.FromContext(ctx)
	switch {
	case text == last:
	case reason == reasonWaiting:
		logger.Info("The ValidatingWebhookConfiguration has to wait", "name", r.config.Name, "for", text)
	default:
		logger.Error(err, "The ValidatingWebhookConfiguration is not as it should be", "name", r.config.Name)
		r.event(reason, text)
	}
	return text
}

// event emits an Event about a problem that only an administrator can solve.
func (r *Registrar) event(problem, text string) {
	reason := map[string]string{reasonMissing: eventNotRegistered, reasonForeign: eventNotRegistered, reasonBundle: eventBundleMissing}[problem]
	if r.config.Recorder == nil || reason == "" {
		return
	}
	r.config.Recorder.Event(&corev1.ObjectReference{
		APIVersion: admissionregistrationv1.SchemeGroupVersion.String(), Kind: "ValidatingWebhookConfiguration", Name: r.config.Name,
	}, corev1.EventTypeWarning, reason, text)
}

// Ready says why policies that deny have no effect although there are some: nil unless the
// configuration is missing.
func (r *Registrar) Ready() error {
	if err := r.absent.Load(); err != nil {
		return fmt.Errorf("ValidatingWebhookConfiguration %s: %w", r.config.Name, *err)
	}
	return nil
}

// wait returns after that time or, if something has changed, soon. It reports whether ctx is still
// alive.
func (r *Registrar) wait(ctx context.Context, length time.Duration) bool {
	timer := r.config.Clock.NewTimer(length)
	defer timer.Stop()
	trigger := r.trigger.C()
	for {
		select {
		case <-ctx.Done():
			return false
		case <-trigger:
			trigger = nil // Later changes are for the next reconciliation.
			timer.Reset(r.soon())
		case <-timer.C():
			return true
		}
	}
}

// soon is the pause before a reconciliation. It grows while somebody else keeps changing the
// configuration back, so that the two don't keep the API server busy.
func (r *Registrar) soon() time.Duration {
	if r.contested == 0 || r.config.Clock.Since(r.contestedAt) > contestWindow {
		return gather
	}
	return min(gather<<min(r.contested, 10), contestWindow/2)
}

// contend notes before a write whether others have changed the configuration.
func (r *Registrar) contend(wanted *admissionregistrationv1.ValidatingWebhookConfiguration) {
	if r.written == nil || !equality.Semantic.DeepEqual(wanted.Webhooks, r.written.Webhooks) {
		return
	}
	if r.config.Clock.Since(r.contestedAt) > contestWindow {
		r.contested = 0
	}
	r.contested++
	r.contestedAt = r.config.Clock.Now()
}

// reconcile makes the configuration what it should be. It does nothing while policies or kinds are
// not known.
func (r *Registrar) reconcile(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, requestTime)
	defer cancel()
	policies, known := r.config.Policies()
	catalog := r.config.Catalog()
	if !known || catalog == nil {
		return nil
	}
	chosen := r.config.selectRules(policies, catalog)
	return retry.RetryOnConflict(retry.DefaultRetry, func() error { return r.once(ctx, chosen) })
}

func (r *Registrar) once(ctx context.Context, chosen selection) error {
	client := r.config.Client.AdmissionregistrationV1().ValidatingWebhookConfigurations()
	have, err := client.Get(ctx, r.config.Name, metav1.GetOptions{})
	if apierrors.IsNotFound(err) {
		return r.missing(chosen)
	}
	if err != nil {
		return fmt.Errorf("read it: %w", err)
	}
	r.absent.Store(nil)
	if !isOurs(have) {
		return errForeign
	}
	wanted := have.DeepCopy()
	hooks := r.config.webhooks(chosen, have)
	owner, err := r.owner(ctx)
	if err != nil {
		return err
	}
	changed := r.config.apply(wanted, hooks, owner)
	if !changed {
		return r.observe(hooks)
	}
	if r.dropped(have, wanted) {
		return errDropped
	}
	if err := r.mayServe(ctx, have, wanted); err != nil {
		return err
	}
	return r.put(ctx, wanted)
}

// missing returns an error unless there is nothing to register.
func (r *Registrar) missing(chosen selection) error {
	_ = r.observe(nil) // No webhook lacks a bundle.
	if len(r.config.webhooks(chosen, nil)) == 0 {
		r.absent.Store(nil)
		return nil
	}
	err := errMissing
	r.absent.Store(&err)
	return err
}

func (r *Registrar) put(ctx context.Context, wanted *admissionregistrationv1.ValidatingWebhookConfiguration) error {
	r.contend(wanted)
	client := r.config.Client.AdmissionregistrationV1().ValidatingWebhookConfigurations()
	got, err := client.Update(ctx, wanted, metav1.UpdateOptions{})
	if apierrors.IsConflict(err) {
		return err
	}
	if err != nil {
		return fmt.Errorf("write it: %w", err)
	}
	r.written, r.answered = wanted, got
	configurationWrites.Inc()
	klog.FromContext(ctx).Info("Wrote the ValidatingWebhookConfiguration", "name", r.config.Name, "webhooks", len(got.Webhooks), "changedByOthers", r.contested > 0)
	return r.observe(got.Webhooks)
}

// dropped reports whether what would be written is what was written last, and what there is is what
// the API server made of it.
func (r *Registrar) dropped(have, wanted *admissionregistrationv1.ValidatingWebhookConfiguration) bool {
	return r.written != nil && have.UID == r.answered.UID && have.ResourceVersion == r.answered.ResourceVersion &&
		equality.Semantic.DeepEqual(wanted.Webhooks, r.written.Webhooks) && !equality.Semantic.DeepEqual(have.Webhooks, wanted.Webhooks)
}

// mayServe returns an error if requests can't be answered. It asks for endpoints of the Service only
// before requests are denied for the first time: later, endpoints come and go.
func (r *Registrar) mayServe(ctx context.Context, have, wanted *admissionregistrationv1.ValidatingWebhookConfiguration) error {
	if len(wanted.Webhooks) == 0 {
		return nil
	}
	if err := r.config.Serving(); err != nil {
		return fmt.Errorf("%w: %w", errWaiting, err)
	}
	if r.config.URL != "" || !fails(wanted.Webhooks) || fails(have.Webhooks) {
		return nil
	}
	found, err := r.config.Client.DiscoveryV1().EndpointSlices(r.config.Service.Namespace).List(ctx, metav1.ListOptions{
		LabelSelector: discoveryv1.LabelServiceName + "=" + r.config.Service.Name,
	})
	if err != nil {
		return fmt.Errorf("look for endpoints of service %s/%s: %w", r.config.Service.Namespace, r.config.Service.Name, err)
	}
	for i := range found.Items {
		for _, endpoint := range found.Items[i].Endpoints {
			if ptr.Deref(endpoint.Conditions.Ready, true) {
				return nil
			}
		}
	}
	return fmt.Errorf("%w: service %s/%s has no ready endpoint", errWaiting, r.config.Service.Namespace, r.config.Service.Name)
}

// owner returns who takes the configuration along; nil if there is nobody. It is looked up each
// time: an owner that was recreated has another UID, and one that is gone would take the
// configuration with it.
func (r *Registrar) owner(ctx context.Context) (*metav1.OwnerReference, error) {
	if r.config.OwnerClusterRole == "" {
		return nil, nil // Nobody.
	}
	role, err := r.config.Client.RbacV1().ClusterRoles().Get(ctx, r.config.OwnerClusterRole, metav1.GetOptions{})
	if apierrors.IsNotFound(err) {
		return nil, nil // Nobody.
	}
	if err != nil {
		return nil, fmt.Errorf("read its owner, ClusterRole %s: %w", r.config.OwnerClusterRole, err)
	}
	return &metav1.OwnerReference{APIVersion: rbacv1.SchemeGroupVersion.String(), Kind: "ClusterRole", Name: role.Name, UID: role.UID}, nil
}

// observe shows the webhooks in the metrics. It returns an error while cert-manager has to write their bundle.
func (r *Registrar) observe(hooks []admissionregistrationv1.ValidatingWebhook) error {
	counts := map[string]int{FailWebhook: 0, IgnoreWebhook: 0}
	for i := range hooks {
		counts[hooks[i].Name] = len(hooks[i].Rules)
	}
	ruleCount.WithLabelValues(webhookFail).Set(float64(counts[FailWebhook]))
	ruleCount.WithLabelValues(webhookIgnore).Set(float64(counts[IgnoreWebhook]))
	bundleMissing.Set(0)
	if r.config.InjectFrom == "" || !slices.ContainsFunc(hooks, func(hook admissionregistrationv1.ValidatingWebhook) bool { return len(hook.ClientConfig.CABundle) == 0 }) {
		return nil
	}
	bundleMissing.Set(1)
	return fmt.Errorf("%w: see that its cainjector runs, and that the Certificate %s is ready", errBundle, r.config.InjectFrom)
}
