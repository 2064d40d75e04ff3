// Copyright 2026 The Docket Authors.
// SPDX-License-Identifier: Apache-2.0

package run

import (
	"context"
	"errors"
	"fmt"
	"io"
	"strings"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/client-go/util/retry"
	apiregistrationv1 "k8s.io/kube-aggregator/pkg/apis/apiregistration/v1"

	"github.com/docket-project/docket/internal/plane/aggregator"
)

const (
	// managedBy marks the objects that this package may change and delete.
	managedByLabel = "app.kubernetes.io/managed-by"
	managedBy      = "docket-run"
	// endpointAnnotation gives the aggregator the address.
	endpointAnnotation = aggregator.EndpointAnnotation
	// runAnnotation distinguishes the runs of one server, so that the end of an earlier run
	// doesn't remove what a later one has registered.
	runAnnotation = "docket.dev/run"

	groupPriority   = 1000
	versionPriority = 15

	// keepInterval is how often the registration is looked at while the server runs.
	keepInterval = 2 * time.Second
)

// registration is what one run has at the endpoint.
type registration struct {
	endpoint        *endpoint
	workspace       *workspace
	name, namespace string // of the Service that APIServices name
	run             string // unique
	versions        []schema.GroupVersion
	shadow          bool // what the endpoint's cluster serves
	notes           io.Writer
}

// register creates an APIService for each group version. The Service that it names need not exist: the aggregator
// follows the annotation with the address.
func (r *registration) register(ctx context.Context) error {
	for _, version := range r.versions {
		if err := r.putAPIService(ctx, version); err != nil {
			return err
		}
	}
	return nil
}

// keep registers again what somebody has deleted, until ctx ends. It writes to the notes what it did, and why what was
// registered is not any more.
func (r *registration) keep(ctx context.Context) {
	said := ""
	_ = wait.PollUntilContextCancel(ctx, keepInterval, false, func(ctx context.Context) (bool, error) {
		now := ""
		for _, version := range r.versions {
			if err := r.restore(ctx, version); err != nil {
				now += fmt.Sprintf("docket run: %s may not be served any more: %v\n", version, err)
			}
		}
		if now != said && ctx.Err() == nil {
			said = now
			fmt.Fprint(r.notes, now)
		}
		return false, nil
	})
}

// restore registers a group version if nobody does. A later run of this server may have taken it over.
func (r *registration) restore(ctx context.Context, version schema.GroupVersion) error {
	name := nameOfAPIService(version)
	have, err := r.endpoint.services.ApiregistrationV1().APIServices().Get(ctx, name, metav1.GetOptions{})
	if err == nil {
		if err := r.mine(have); err != nil || have.Spec.Service != nil {
			return err
		}
	} else if !apierrors.IsNotFound(err) {
		return explained(err)
	}
	if err := r.putAPIService(ctx, version); err != nil {
		return err
	}
	fmt.Fprintf(r.notes, "docket run: somebody deleted APIService %s; it is registered again while the server runs\n", name)
	return nil
}

func (r *registration) putAPIService(ctx context.Context, version schema.GroupVersion) error {
	client := r.endpoint.services.ApiregistrationV1().APIServices()
	port := int32(r.workspace.port)
	wanted := &apiregistrationv1.APIService{
		ObjectMeta: r.meta(nameOfAPIService(version)),
		Spec: apiregistrationv1.APIServiceSpec{
			Service: &apiregistrationv1.ServiceReference{Namespace: r.namespace, Name: r.name, Port: &port},
			Group:   version.Group, Version: version.Version,
			CABundle:             r.workspace.ca.CertificatePEM,
			GroupPriorityMinimum: groupPriority, VersionPriority: versionPriority,
		},
	}
	err := retry.RetryOnConflict(retry.DefaultBackoff, func() error {
		have, err := client.Get(ctx, wanted.Name, metav1.GetOptions{})
		if apierrors.IsNotFound(err) {
			_, err = client.Create(ctx, wanted, metav1.CreateOptions{})
			return err
		}
		if err != nil {
			return err
		}
		if err := r.mine(have); err != nil {
			return err
		}
		r.mark(&have.ObjectMeta)
		have.Spec = wanted.Spec
		_, err = client.Update(ctx, have, metav1.UpdateOptions{})
		return err
	})
	if err != nil {
		return fmt.Errorf("register %s: %w", version, explained(err))
	}
	return nil
}

// mine refuses an APIService that does not belong to an earlier run of this server.
func (r *registration) mine(have *apiregistrationv1.APIService) error {
	service := have.Spec.Service
	switch {
	case service == nil && r.shadow:
		return nil
	case service == nil:
		return errors.New("the endpoint serves this group version itself, for example for a CustomResourceDefinition; a group version can have only one server. " +
			"At a docket gateway, --shadow lets yours replace the cluster's")
	case have.Labels[managedByLabel] != managedBy:
		return fmt.Errorf("APIService %s points to Service %s in namespace %s and does not belong to docket run; if that server is no longer needed, delete it with `kubectl delete apiservice %s`",
			have.Name, service.Name, service.Namespace, have.Name)
	case service.Name != r.name || service.Namespace != r.namespace:
		return fmt.Errorf("APIService %s belongs to another docket run, with --name=%s --namespace=%s; stop that, or if it has ended, delete what it left with `kubectl delete apiservice %s`",
			have.Name, service.Name, service.Namespace, have.Name)
	}
	return nil
}

// meta returns the metadata of a new object.
func (r *registration) meta(name string) metav1.ObjectMeta {
	meta := metav1.ObjectMeta{Name: name}
	r.mark(&meta)
	return meta
}

// mark says that an object belongs to this run.
func (r *registration) mark(meta *metav1.ObjectMeta) {
	metav1.SetMetaDataLabel(meta, managedByLabel, managedBy)
	metav1.SetMetaDataAnnotation(meta, endpointAnnotation, "https://"+r.workspace.address())
	metav1.SetMetaDataAnnotation(meta, runAnnotation, r.run)
}

// unregister deletes what this run has created and no later run has taken over. All errors
// are returned together.
func (r *registration) unregister(ctx context.Context) error {
	var errs []error
	apiServices := r.endpoint.services.ApiregistrationV1().APIServices()
	for _, version := range r.versions {
		name := nameOfAPIService(version)
		have, err := apiServices.Get(ctx, name, metav1.GetOptions{})
		if err == nil && have.Annotations[runAnnotation] == r.run {
			err = apiServices.Delete(ctx, name, *metav1.NewPreconditionDeleteOptions(string(have.UID)))
		}
		if err != nil && !apierrors.IsNotFound(err) {
			errs = append(errs, fmt.Errorf("APIService %s: %w", name, err))
		}
	}
	if len(errs) > 0 {
		return fmt.Errorf("withdraw the registration: %w; delete the rest with `kubectl delete apiservices -l %s=%s`", errors.Join(errs...), managedByLabel, managedBy)
	}
	return nil
}

func nameOfAPIService(version schema.GroupVersion) string {
	return strings.Join([]string{version.Version, version.Group}, ".")
}
