// Copyright 2026 The Docket Authors.
// SPDX-License-Identifier: Apache-2.0

// Command fill writes many PolicyReports straight into a database, past the
// API server, to measure at a size that would take long to reach through it:
//
//	go run ./test/fill --database sqlite:///tmp/big.db --objects 1000000
//
// The reports have 17 results, differ like those of real pods, and carry what
// an API server adds. No server may use an SQLite database meanwhile. Measure with
// docket up: the garbage collector of a cluster deletes these reports, because the pods
// that own them do not exist.
//
// Ten million reports in PostgreSQL, by copies that it makes itself, in place of hours:
//
//	go run ./test/fill --database postgres://… --objects 30000 --copies 332
package main

import (
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"os"
	"os/signal"
	"strings"
	"syscall"
	"time"

	"github.com/google/uuid"
	"golang.org/x/sync/errgroup"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	wgpolicy "github.com/docket-project/docket/api/wgpolicyk8s/v1alpha2"
	"github.com/docket-project/docket/internal/kit/progress"
	"github.com/docket-project/docket/internal/plane/sample"
	"github.com/docket-project/docket/internal/server/apiserver"
	"github.com/docket-project/docket/internal/server/imports"
)

// writers at once: enough for the store to make full batches while the last one is written.
const writers = 512

// variants is how many different contents there are.
const variants = 64

// managedFields as an API server keeps them for a report that one client
// writes whole.
const managedFields = `{"f:metadata":{"f:labels":{".":{},"f:app.kubernetes.io/managed-by":{},"f:audit.kyverno.io/resource.uid":{}},` +
	`"f:ownerReferences":{".":{},"k:{\"uid\":\"%s\"}":{}}},"f:results":{},"f:scope":{},` +
	`"f:summary":{".":{},"f:error":{},"f:fail":{},"f:pass":{},"f:skip":{},"f:warn":{}}}`

func main() {
	url := flag.String("database", "", "URL of the database: sqlite:///path or postgres://…")
	cluster := flag.String("cluster", "default", "identity of the cluster in the database")
	objects := flag.Int("objects", 100_000, "number of reports")
	namespaces := flag.Int("namespaces", 100, "namespaces that they are spread over")
	unique := flag.Int("unique-messages", 0, "percentage of the reports whose messages name their pod, so that no other report has them")
	copies := flag.Int("copies", 0, "how many copies of each report PostgreSQL makes of what it has then, without history; "+
		"each has a key of its own, and the original's name in its value")
	flag.Parse()
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	err := run(ctx, *url, *cluster, content{*objects, *namespaces, *unique, *copies})
	stop()
	if err != nil {
		fmt.Fprintln(os.Stderr, "fill:", err)
		os.Exit(2)
	}
}

// content is what the database is to have.
type content struct {
	objects, namespaces int
	// unique is the percentage of reports with messages of their own.
	unique int
	// copies is how many PostgreSQL adds of each report.
	copies int
}

func run(ctx context.Context, url, cluster string, what content) error {
	if what.copies > 0 && strings.HasPrefix(url, "sqlite:") {
		return errors.New("--copies is for PostgreSQL; SQLite takes more --objects")
	}
	if err := fill(ctx, url, cluster, what); err != nil || what.copies == 0 {
		return err
	}
	return copyAll(ctx, url, cluster, what.copies)
}

// fill writes reports as a server would.
func fill(ctx context.Context, url, cluster string, what content) (err error) {
	options := apiserver.NewStorageOptions()
	options.Database, options.Cluster = url, cluster
	if err := errors.Join(options.Validate()...); err != nil {
		return err
	}
	// As a server opens it, or rows would lack what servers look for.
	opened, err := apiserver.OpenReports(ctx, options)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, opened.Close()) }()
	reports := opened.Storage()[wgpolicy.Resource("policyreports")]
	stored := reports.Storage.Storage
	before, err := stored.Stats(ctx)
	if err != nil {
		return err
	}
	if err := write(ctx, opened.Storage(), reports.Kind, what); err != nil {
		return err
	}
	after, err := stored.Stats(ctx)
	if written := after.ObjectCount - before.ObjectCount; err == nil && written != int64(what.objects) {
		err = fmt.Errorf("the database has %d reports more, not %d: somebody else writes", written, what.objects)
	}
	return err
}

// templates returns the JSON of reports that differ in their contents. With named, each message
// names the report.
func templates(named bool) ([]string, error) {
	kind, err := sample.KindOf("PolicyReport")
	if err != nil {
		return nil, err
	}
	reports := make([]string, variants)
	for i := range reports {
		data, err := json.Marshal(sample.Cluster{Seed: 1, Now: time.Now()}.Report(kind, i, 17))
		if err != nil {
			return nil, err
		}
		var report wgpolicy.PolicyReport
		if err := json.Unmarshal(data, &report); err != nil {
			return nil, err
		}
		asTemplate(&report)
		if named {
			name(&report)
		}
		if data, err = json.Marshal(report); err != nil {
			return nil, err
		}
		reports[i] = string(data)
	}
	return reports, nil
}

// asTemplate makes a sample what an API server would keep, with what is to be replaced.
func asTemplate(report *wgpolicy.PolicyReport) {
	now := metav1.Now().Rfc3339Copy()
	report.SetGroupVersionKind(wgpolicy.SchemeGroupVersion.WithKind("PolicyReport"))
	report.Namespace, report.Name = templateNamespace, templateSubject
	report.UID, report.CreationTimestamp, report.Generation = templateUID, now, 1
	report.Labels["audit.kyverno.io/resource.uid"] = templateSubject
	if report.Scope != nil {
		report.Scope.UID, report.Scope.Namespace, report.Scope.Name = templateSubject, templateNamespace, templatePod
	}
	for j := range report.OwnerReferences {
		report.OwnerReferences[j].UID = templateSubject
	}
	for j := range report.Results {
		if timestamp := report.Results[j].Timestamp; timestamp != nil {
			timestamp.Seconds = now.Unix()
		}
	}
	report.ManagedFields = []metav1.ManagedFieldsEntry{{
		Manager: "reports-controller", Operation: metav1.ManagedFieldsOperationUpdate, APIVersion: "wgpolicyk8s.io/v1alpha2",
		Time: &now, FieldsType: "FieldsV1", FieldsV1: metav1.NewFieldsV1(fmt.Sprintf(managedFields, templateSubject)),
	}}
}

func write(ctx context.Context, reports imports.Storage, kind imports.Kind, what content) error {
	shared, err := templates(false)
	if err != nil {
		return err
	}
	unique, err := templates(true)
	if err != nil {
		return err
	}
	bar := progress.New(os.Stderr, int64(what.objects), "reports")
	defer bar.Done()
	group, groupCtx := errgroup.WithContext(ctx)
	group.SetLimit(writers)
	for i := range what.objects {
		if groupCtx.Err() != nil {
			break
		}
		group.Go(func() error {
			templates := shared
			if i%100 < what.unique {
				templates = unique
			}
			report, _, err := kind.Decode(individual(templates[i%len(templates)], i, what.namespaces))
			if err != nil {
				return err
			}
			if err := reports.Create(groupCtx, kind, report); err != nil {
				return fmt.Errorf("create %s/%s: %w", report.GetNamespace(), report.GetName(), err)
			}
			bar.Add(1)
			return nil
		})
	}
	if err := group.Wait(); err != nil {
		return err
	}
	// Interrupted between two reports: not all were written.
	return context.Cause(ctx)
}

// What each report has of its own, as templates have it.
const (
	templateNamespace = "template-namespace"
	templateSubject   = "template-subject"
	templateUID       = "template-uid"
	templatePod       = "template-pod"
)

// individual returns the JSON of the i-th report: that of a pod of its own.
func individual(template string, i, namespaces int) []byte {
	return []byte(strings.NewReplacer(
		templateNamespace, fmt.Sprintf("team-%03d", i%namespaces), templateSubject, uuid.NewString(),
		templateUID, uuid.NewString(), templatePod, fmt.Sprintf("app-%07d", i),
	).Replace(template))
}

// name makes each message one that names the pod.
func name(report *wgpolicy.PolicyReport) {
	for j := range report.Results {
		result := &report.Results[j]
		result.Message = fmt.Sprintf("Pod %s/%s: %s", report.Namespace, report.Name, result.Message)
	}
}
