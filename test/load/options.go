// Copyright 2026 The Docket Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
	"strings"
	"time"

	"github.com/spf13/pflag"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/util/yaml"

	"github.com/docket-project/docket/internal/plane/sample"
)

// options is what the flags say.
type options struct {
	kubeconfig, context, server, token, ca string
	insecure, gzip                         bool
	connections                            int

	kind     sample.Kind
	kindName string
	// from is a file with objects of a kind that is no report; objectsFrom are these.
	from        string
	objectsFrom []*unstructured.Unstructured
	objects     int
	namespaces  int
	results     int
	// unique is the percentage of reports with messages of their own.
	unique    int
	varied    bool
	seed      uint64
	groupSize int

	phases   []string
	keep     bool
	clients  int
	rate     float64
	repeat   int
	pageSize int

	watchKubeconfig string

	watchers     int
	watchOne     bool
	watchRate    float64
	duration     time.Duration
	idleWatchers int

	output string
}

func parse(arguments []string, help io.Writer) (*options, error) {
	o := &options{}
	flags := pflag.NewFlagSet("load", pflag.ContinueOnError)
	flags.SortFlags = false
	flags.SetOutput(help)
	flags.Usage = func() {
		fmt.Fprintf(help, "Usage: go run ./test/load [flags]\n       go run ./test/load serve --help\n\n"+
			"Measures a server of the reports APIs, or is one that answers from memory: the limit.\n\nPhases, in the order given: %s.\n"+
			"Last comes check, which reads all objects and compares them with what was written.\n"+
			"Objects have fixed names: a later run with the same --seed, --kind, --objects and\n"+
			"--namespaces can work on those that an earlier run with --keep left.\n\nFlags:\n%s",
			strings.Join(phaseNames(), ", "), flags.FlagUsages())
	}
	o.register(flags)
	if err := flags.Parse(arguments); err != nil {
		return nil, err
	}
	if o.varied {
		o.unique = uniqueVaried
	}
	if flags.NArg() > 0 {
		return nil, fmt.Errorf("unexpected argument %q: see --help", flags.Arg(0))
	}
	return o, errors.Join(o.chooseKind(), o.validate())
}

// chooseKind sets the kind by its name, or to that of the objects in a file.
func (o *options) chooseKind() (err error) {
	if o.from == "" {
		if o.kind, err = sample.KindOf(o.kindName); err != nil {
			err = fmt.Errorf("--kind: %w", err)
		}
		return err
	}
	data, err := os.ReadFile(o.from)
	if err != nil {
		return fmt.Errorf("--from: %w", err)
	}
	for decoder := yaml.NewYAMLOrJSONDecoder(bytes.NewReader(data), 1<<20); ; {
		object := &unstructured.Unstructured{}
		if err := decoder.Decode(&object.Object); errors.Is(err, io.EOF) {
			break
		} else if err != nil {
			return fmt.Errorf("--from=%s: %w", o.from, err)
		}
		if len(o.objectsFrom) > 0 && object.GroupVersionKind() != o.objectsFrom[0].GroupVersionKind() {
			return fmt.Errorf("--from=%s: objects of %v and of %v: use one kind", o.from, o.objectsFrom[0].GroupVersionKind(), object.GroupVersionKind())
		}
		o.objectsFrom = append(o.objectsFrom, object)
	}
	if len(o.objectsFrom) == 0 {
		return fmt.Errorf("--from=%s: no object", o.from)
	}
	first := o.objectsFrom[0]
	resource, _ := meta.UnsafeGuessKindToResource(first.GroupVersionKind())
	o.kind = sample.Kind{APIVersion: first.GetAPIVersion(), Kind: first.GetKind(), Resource: resource.Resource, Namespaced: first.GetNamespace() != ""}
	return nil
}

func (o *options) register(flags *pflag.FlagSet) {
	flags.StringVar(&o.kubeconfig, "kubeconfig", "", "how to reach the server; default is KUBECONFIG, then ~/.kube/config")
	flags.StringVar(&o.context, "context", "", "context of the kubeconfig")
	flags.StringVar(&o.server, "server", "", "URL of the server, in place of a kubeconfig")
	flags.StringVar(&o.token, "token", "", "bearer token, with --server")
	flags.StringVar(&o.ca, "ca", "", "file with the certificate authority, with --server")
	flags.BoolVar(&o.insecure, "insecure-skip-tls-verify", false, "do not check the server's certificate, with --server")
	flags.BoolVar(&o.gzip, "gzip", false, "let the server compress answers; costs both sides CPU")
	flags.IntVar(&o.connections, "connections", 4, "connections that the clients share; watches beyond the limit of HTTP/2 open more")

	flags.StringVar(&o.kindName, "kind", "PolicyReport", "kind of the reports")
	flags.StringVar(&o.from, "from", "", "YAML or JSON file with objects of any kind to write in turn, in place of reports: --kind, --results, --varied and --unique-messages don't count")
	flags.IntVar(&o.objects, "objects", 1000, "number of reports")
	flags.IntVar(&o.namespaces, "namespaces", 10, "namespaces that the reports are spread over")
	flags.IntVar(&o.results, "results", 17, "results in a report; 17 make about 7 KB")
	flags.BoolVar(&o.varied, "varied", false, "reports of 1 to 200 results, 17 on average, half of them with messages of their own: --results and --unique-messages don't count")
	flags.IntVar(&o.unique, "unique-messages", 0, "percentage of the reports whose messages name their subject, so that no other report has them")
	flags.Uint64Var(&o.seed, "seed", 1, "makes names and contents differ between runs")
	flags.IntVar(&o.groupSize, "selector-size", 1, "how many reports share the label value that phase selector asks for")

	flags.StringSliceVar(&o.phases, "phases", defaultPhases(), "what to do, in this order")
	flags.BoolVar(&o.keep, "keep", false, "leave the reports: skip phase delete")
	flags.IntVar(&o.clients, "clients", 16, "requests under way at once")
	flags.Float64Var(&o.rate, "rate", 0, "most operations a second of phases create, update, rewrite, get, selector and delete; 0: as many as go")
	flags.IntVar(&o.repeat, "repeat", 5, "how often phases list and pages read everything")
	flags.IntVar(&o.pageSize, "page-size", 500, "limit of phase pages")

	flags.StringVar(&o.watchKubeconfig, "watch-kubeconfig", "", "how watches reach the server, where they are to go to another replica than writes")
	flags.IntVar(&o.watchers, "watchers", 10, "watches of phase watch")
	flags.BoolVar(&o.watchOne, "watch-one-namespace", false, "each watch of phase watch is of one namespace, in turn, and not of all")
	flags.Float64Var(&o.watchRate, "watch-rate", 50, "updates a second in phase watch")
	flags.DurationVar(&o.duration, "duration", 20*time.Second, "how long phases watch and idle-watch go on")
	flags.IntVar(&o.idleWatchers, "idle-watchers", 1000, "watches of phase idle-watch")

	flags.StringVar(&o.output, "output", "text", "text or json")
}

// validate returns all errors at once.
func (o *options) validate() error {
	var errs []error
	for _, number := range []struct {
		flag  string
		value int
	}{
		{"connections", o.connections},
		{"objects", o.objects},
		{"namespaces", o.namespaces},
		{"selector-size", o.groupSize},
		{"clients", o.clients},
		{"repeat", o.repeat},
		{"page-size", o.pageSize},
		{"watchers", o.watchers},
		{"idle-watchers", o.idleWatchers},
	} {
		if number.value < 1 {
			errs = append(errs, fmt.Errorf("--%s=%d: use 1 or more", number.flag, number.value))
		}
	}
	if o.results < 0 {
		errs = append(errs, fmt.Errorf("--results=%d: use 0 or more", o.results))
	}
	if o.unique < 0 || o.unique > 100 {
		errs = append(errs, fmt.Errorf("--unique-messages=%d: use 0 to 100", o.unique))
	}
	if o.rate < 0 {
		errs = append(errs, fmt.Errorf("--rate=%g: use 0 for no limit, or more", o.rate))
	}
	if o.watchRate <= 0 {
		errs = append(errs, fmt.Errorf("--watch-rate=%g: use more than 0", o.watchRate))
	}
	if o.duration <= 0 {
		errs = append(errs, fmt.Errorf("--duration=%v: use more than 0", o.duration))
	}
	for _, phase := range o.phases {
		if !slices.Contains(phaseNames(), phase) {
			errs = append(errs, fmt.Errorf("--phases: unknown phase %q: use some of %s", phase, strings.Join(phaseNames(), ", ")))
		}
	}
	if o.output != outputText && o.output != outputJSON {
		errs = append(errs, fmt.Errorf("--output=%s: use %s or %s", o.output, outputText, outputJSON))
	}
	if o.server == "" && (o.token != "" || o.ca != "" || o.insecure) {
		errs = append(errs, errors.New("--token, --ca and --insecure-skip-tls-verify go with --server"))
	}
	if o.server != "" && (o.kubeconfig != "" || o.context != "") {
		errs = append(errs, errors.New("--server goes without --kubeconfig and --context"))
	}
	return errors.Join(errs...)
}
