// Copyright 2026 The Docket Authors.
// SPDX-License-Identifier: Apache-2.0

package bench

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
)

// churn changes Services and Ingresses until the returned function is called.
func (w *webhook) churn() (stop func()) {
	ctx, cancel := context.WithCancel(w.b.Context())
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		ticker := time.NewTicker(50 * time.Millisecond)
		defer ticker.Stop()
		for i := 0; ctx.Err() == nil; i++ {
			patch := fmt.Appendf(nil, `{"metadata":{"annotations":{"example.com/churn":"%d"}}}`, i)
			service, ingress := newService(i%services), newIngress(i%ingresses)
			// To their ends, since each is counted.
			_, err := w.core.CoreV1().Services(service.Namespace).Patch(w.b.Context(), service.Name, types.MergePatchType, patch, metav1.PatchOptions{})
			_, also := w.core.NetworkingV1().Ingresses(ingress.Namespace).Patch(w.b.Context(), ingress.Name, types.MergePatchType, patch, metav1.PatchOptions{})
			if err := errors.Join(err, also); err != nil {
				w.b.Error(err)
				return
			}
			w.audit.expect(serviceResource, "PATCH", 1)
			w.audit.changed(serviceKeys + service.Namespace + "/" + service.Name)
			w.audit.expect(ingressResource, "PATCH", 1)
			w.audit.changed(ingressKeys + ingress.Namespace + "/" + ingress.Name)
			<-ticker.C
		}
	}()
	return func() {
		cancel()
		<-ended
	}
}

// visible measures how long a new Service takes until the webhook knows of it.
func (w *webhook) visible() {
	w.b.Helper()
	var times []time.Duration
	for i := range 50 {
		object := newService(services + i)
		q := w.destination(2 * i)
		q.review = bytes.ReplaceAll(q.review, []byte(newService(2*i).Name), []byte(object.Name))
		q.review = bytes.ReplaceAll(q.review, []byte(newService(2*i).Namespace), []byte(object.Namespace))
		if _, err := w.core.CoreV1().Services(object.Namespace).Create(w.b.Context(), object, metav1.CreateOptions{}); err != nil {
			w.b.Fatal(err)
		}
		w.audit.expect(serviceResource, "POST", 1)
		w.audit.changed(serviceKeys + object.Namespace + "/" + object.Name)
		times = append(times, w.answers(q))
	}
	row("a new Service is known after", "%s", quantiles(times))
}

// Where etcd has what is looked up.
const (
	serviceResource = "services"
	serviceKeys     = "/registry/services/specs/"
	ingressResource = "ingresses.networking.k8s.io"
	ingressKeys     = "/registry/ingress/"
)

// end has the controller write and delete all EphemeralReports, and nobody else.
func (w *webhook) end() {
	w.b.Helper()
	metric := func(name string, labels map[string]string) float64 {
		return w.controller.Metric(w.b, "docket_controller_admission_"+name, labels)
	}
	untilQuiet(w.b, settled, func() [2]float64 { return [2]float64{metric("queue", nil), metric("ephemeral_reports_total", nil)} })
	const reports = "ephemeralreports.reports.kyverno.io"
	w.audit.expect(reports, "POST", int(metric("ephemeral_report_writes_total", map[string]string{"result": "success"})))
	w.audit.expect(reports, "DELETE", int(metric("ephemeral_reports_total", nil)))
	row("requests meanwhile", "%s", w.audit.end())
}
