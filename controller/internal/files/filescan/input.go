// Copyright 2026 The Docket Authors.
// SPDX-License-Identifier: Apache-2.0

package filescan

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/rest"

	"github.com/docket-project/docket/controller/internal/cache/contextcache"
	"github.com/docket-project/docket/controller/internal/cache/objects"
	"github.com/docket-project/docket/controller/internal/cluster/served"
	"github.com/docket-project/docket/controller/internal/files/manifest"
	"github.com/docket-project/docket/controller/internal/policy"
	"github.com/docket-project/docket/internal/kit/cli"
)

// Input says which policies are evaluated, and for which resources.
type Input struct {
	Process cli.Process
	// Policies, Exceptions and Resources are files, folders, or - for standard input.
	Policies, Exceptions, Resources []string
	// Kubeconfig names the cluster whose resources are evaluated if there are no files, and which Lookup may ask for what
	// files don't have; Context may be empty for its current one.
	Kubeconfig, Context string
	// Lookup says what answers policies that are evaluated for files: one of those below.
	Lookup string
	// Namespaces limit the scan of a cluster. For files, the first one is given to resources without a namespace.
	Namespaces []string
	// Workers is the number of concurrent evaluations; 0 for one per core.
	Workers int
	// Cache has the limits and the engine of the context cache.
	Cache contextcache.Config
	// ForFiles and ForCluster make the compiler of the policies.
	ForFiles   func(*objects.API, *contextcache.Static) (policy.Compiler, error)
	ForCluster func(*rest.Config, *contextcache.Cache) (policy.Compiler, error)
	// Variants returns resources to evaluate beside those of files; nil for none.
	Variants func([]manifest.Object) []manifest.Object
}

// What answers policies that look things up. LookupBoth is the default: files are evaluated as if they were applied.
const (
	LookupFiles   = "files"
	LookupCluster = "cluster"
	LookupBoth    = "both"
)

// Validate returns one error for each flag that is wrong.
func (in *Input) Validate() []error {
	return wrong(
		mistake{len(in.Resources) == 0 && in.Kubeconfig == "", "--resource: is required; give files with resources, or --kubeconfig for those of a cluster"},
		mistake{!slices.Contains([]string{LookupFiles, LookupCluster, LookupBoth}, in.Lookup), fmt.Sprintf("--lookup: %q is none of files, cluster and both", in.Lookup)},
		mistake{in.Lookup == LookupCluster && in.Kubeconfig == "", "--lookup=cluster needs --kubeconfig"},
		mistake{in.Lookup == LookupFiles && len(in.Resources) == 0, "--lookup=files needs --resource"},
		mistake{len(in.Policies) == 0 && in.Kubeconfig == "", "--policy: is required; give files with policies"},
		mistake{len(in.Exceptions) > 0 && len(in.Policies) == 0, "--exception needs --policy: exceptions of a cluster's policies are those of the cluster"},
		mistake{in.Context != "" && in.Kubeconfig == "", "--context needs --kubeconfig"},
		mistake{len(in.Resources) > 0 && len(in.Namespaces) > 1, "--namespace: with --resource give one, for the resources that name none"},
		mistake{slices.Contains(in.Namespaces, ""), "--namespace: must not be empty"},
		mistake{in.Workers < 0, "--workers: must not be negative"},
	)
}

// mistake is a check of a flag, and the error if it is made.
type mistake struct {
	made bool
	text string
}

func wrong(mistakes ...mistake) []error {
	var errs []error
	for _, one := range mistakes {
		if one.made {
			errs = append(errs, errors.New(one.text))
		}
	}
	return errs
}

// Loaded is what an input has.
type Loaded struct {
	Policies []policy.Policy
	// Sorted is what the policies were compiled of, by Compiler.
	Sorted   Sorted
	Compiler policy.Compiler
	// Kinds knows the kinds of custom resources; its group may be "*".
	Kinds func(group, kind string) []schema.GroupResource
	// Source has the resources; nil if the input names none.
	Source interface {
		Source
		Extent
	}
	// Total is the number of resources; 0 if it is not known.
	Total int64
	// Unreadable are the documents that are not evaluated, each with its flag; see [manifest.UnreadableError].
	Unreadable []error
	// objects are the objects of the policies.
	objects map[policy.Identity]manifest.Object
	// ended waits for what runs beside the scan.
	ended sync.WaitGroup
}

// Wait waits for the end of what supports the evaluation, such as watches. The context of [Input.Load] ends it.
func (l *Loaded) Wait() { l.ended.Wait() }

// Load reads and compiles the policies, and reads the resources of files, or finds those of the cluster.
func (in *Input) Load(ctx context.Context) (*Loaded, error) {
	l := &Loaded{}
	if in.Kubeconfig != "" && len(in.Resources) == 0 {
		return l, in.loadCluster(ctx, l)
	}
	return l, in.loadFiles(ctx, l)
}

// miss records documents that are not evaluated.
func (l *Loaded) miss(flag string, unreadable []*manifest.UnreadableError) {
	for _, one := range unreadable {
		l.Unreadable = append(l.Unreadable, prefixed(flag, one))
	}
}

// fail returns an error with those of documents.
func (l *Loaded) fail(err error) error {
	if err == nil {
		return nil
	}
	return errors.Join(append(slices.Clone(l.Unreadable), err)...)
}

// compile sets the policies and their objects.
func (l *Loaded) compile() {
	kept, twice := distinct(l.Sorted.Policies)
	l.Sorted.Policies = kept
	l.miss("--policy", twice)
	l.Policies = Compile(l.Compiler, l.Sorted.Policies, l.Sorted.Exceptions)
	l.objects = make(map[policy.Identity]manifest.Object, len(l.Policies))
	for i, p := range l.Policies {
		l.objects[p.Identity()] = l.Sorted.Policies[i]
	}
}

// loadFiles takes the resources of files, and the policies of the cluster if none are given.
func (in *Input) loadFiles(ctx context.Context, l *Loaded) error {
	loader := &manifest.Loader{Stdin: in.Process.In, GoOn: true}
	var err error
	if len(in.Policies) > 0 {
		l.Sorted, err = in.loadPolicies(l, loader)
	}
	set, broken := loader.Load(in.Resources...)
	l.miss("--resource", set.Unreadable)
	if errors.Is(err, errNoPolicies) && len(Sort(set.Objects, "").Policies) > 0 {
		err = fmt.Errorf("%w. --resource has policies: are the two flags the wrong way round?", err)
	}
	if err = errors.Join(err, prefixed("--resource", broken)); err != nil {
		return l.fail(err)
	}
	in.note(set.LeftOut...)
	behind, err := in.behind(ctx, l)
	if err != nil {
		return l.fail(err)
	}
	l.Kinds = named(objects.KindsOf(plain(slices.DeleteFunc(slices.Clone(set.Objects), func(o manifest.Object) bool { return o.GetKind() != "CustomResourceDefinition" })), &served.Catalog{}))
	entries := plain(append(l.Sorted.Entries, Sort(set.Objects, in.namespace()).Entries...))
	api, err := in.takeFiles(ctx, l, set, behind)
	if err != nil {
		return l.fail(err)
	}
	cached, err := contextcache.NewStatic(in.Cache, api, entries)
	if err == nil {
		l.Compiler, err = in.ForFiles(api, cached)
	}
	if err == nil {
		l.compile()
	}
	return l.fail(err)
}

// takeFiles makes a source of objects, with their variants, and returns what policies may look things up in.
func (in *Input) takeFiles(ctx context.Context, l *Loaded, set manifest.Set, behind *objects.Behind) (*objects.API, error) {
	all := set.Objects
	kinds := objects.KindsOf(plain(all), behind.Served())
	api, spaces := objects.NewAPI(objects.NewDocuments(nil, kinds), behind), namespaces{}
	if behind != nil {
		of, _ := objects.Selection{Resource: served.Resource{GroupVersionResource: namespaceResource}}.In(kinds)
		found, err := api.List(ctx, of)
		if err != nil {
			return api, fmt.Errorf("policies may read namespaces, and the cluster does not show them; --lookup=files does without: %w", err)
		}
		for _, namespace := range found {
			if err := spaces.add(namespace); err != nil {
				return api, err
			}
		}
	}
	if len(in.Resources) == 0 {
		return api, nil
	}
	subjects := all
	if in.Variants != nil {
		subjects = slices.Concat(all, in.Variants(all))
	}
	files := NewFiles(subjects, FilesOptions{Namespace: in.namespace(), Partial: len(set.Unreadable) > 0, Cluster: spaces, Kinds: kinds})
	l.miss("--resource", files.Unreadable)
	l.Source, l.Total = files, int64(files.Len())
	if in.Lookup != LookupCluster {
		api = objects.NewAPI(objects.NewDocuments(plain(all), kinds), behind)
	}
	return api, nil
}

func prefixed(flag string, err error) error {
	if err == nil {
		return nil
	}
	return fmt.Errorf("%s: %w", flag, err)
}

func plain(objects []manifest.Object) []*unstructured.Unstructured {
	list := make([]*unstructured.Unstructured, 0, len(objects))
	for _, object := range objects {
		list = append(list, object.Unstructured)
	}
	return list
}

// namespace is given to resources in files that name none.
func (in *Input) namespace() string {
	if len(in.Namespaces) == 0 {
		return ""
	}
	return in.Namespaces[0]
}

var errNoPolicies = errors.New("--policy: there is no policy in it that can be evaluated, such as a ClusterPolicy or a ValidatingPolicy; give files with some")

// loadPolicies reads the files of --policy and --exception.
func (in *Input) loadPolicies(l *Loaded, loader *manifest.Loader) (Sorted, error) {
	set, err := loader.Load(in.Policies...)
	exceptions, broken := loader.Load(in.Exceptions...)
	l.miss("--policy", set.Unreadable)
	l.miss("--exception", exceptions.Unreadable)
	if err = errors.Join(prefixed("--policy", err), prefixed("--exception", broken)); err != nil {
		return Sorted{}, err
	}
	in.note(set.LeftOut...)
	in.note(exceptions.LeftOut...)
	found, more := Sort(set.Objects, in.namespace()), Sort(exceptions.Objects, in.namespace())
	for _, other := range slices.Concat(found.Others, more.Others, more.Policies, more.Entries) {
		in.note(fmt.Sprintf("%s: a %s of %s is not evaluated", other.Origin, other.GetKind(), other.GetAPIVersion()))
	}
	if len(found.Policies) == 0 {
		return Sorted{}, errNoPolicies
	}
	found.Exceptions = append(found.Exceptions, more.Exceptions...)
	return found, nil
}

// note tells what was left out. It is no error, and must not be silent.
func (in *Input) note(leftOut ...string) {
	for _, text := range leftOut {
		fmt.Fprintln(in.Process.ErrOut, "Left out:", text)
	}
}
