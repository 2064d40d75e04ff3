// Copyright 2026 The Docket Authors.
// SPDX-License-Identifier: Apache-2.0

package checks

import (
	"errors"
	"fmt"
	"io"
	"maps"
	"slices"
	"strconv"
	"time"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/watch"

	"github.com/docket-project/docket/conformance/runner"
)

const (
	// colorLabel and sizeLabel are on objects that are selected, or not.
	colorLabel = "conformance.docket.dev/color"
	sizeLabel  = "conformance.docket.dev/size"
)

// listed is a list, as far as checks need it. What is wrong with its shape is the business of few
// checks, so nothing is demanded of it.
type listed struct {
	*runner.Response

	metadata map[string]any
	items    []*unstructured.Unstructured
}

// readList asks for a list, which a check needs to go on.
func readList(p *runner.Probe, path string, query ...string) *listed {
	response := p.Prepare("list objects", runner.Get(path, query...))
	return listOf(response)
}

// readOurs asks for a list of what the probe has made.
func readOurs(p *runner.Probe, query ...string) *listed {
	return readList(p, p.Collection(), ours(p, query...)...)
}

// ours adds the selector of what the probe has made to a query; nothing where objects are only shown.
func ours(p *runner.Probe, query ...string) []string {
	if p.Resource.ShownOnly() {
		return query
	}
	return append([]string{"labelSelector", p.Selector()}, query...)
}

func listOf(response *runner.Response) *listed {
	value := response.JSON()
	list := &listed{Response: response}
	list.metadata, _ = value["metadata"].(map[string]any)
	given, has := value["items"]
	items, isArray := given.([]any)
	if !isArray && given != nil || !has {
		response.Fail("a list of objects")
	}
	for _, one := range items {
		item, ok := one.(map[string]any)
		if !ok {
			response.Fail("a list of objects")
		}
		list.items = append(list.items, &unstructured.Unstructured{Object: item})
	}
	return list
}

// version is the list's own.
func (l *listed) version() string {
	version, _ := l.metadata["resourceVersion"].(string)
	return version
}

// token returns the token for the next page; empty if there is none.
func (l *listed) token() string {
	token, _ := l.metadata["continue"].(string)
	return token
}

// item returns the object with a name; nil if the list does not have it.
func (l *listed) item(name string) *unstructured.Unstructured {
	for _, item := range l.items {
		if item.GetName() == name {
			return item
		}
	}
	return nil
}

// names are sorted.
func (l *listed) names() []string {
	names := []string{}
	for _, item := range l.items {
		names = append(names, item.GetName())
	}
	slices.Sort(names)
	return names
}

// makeSome makes objects and returns their names, sorted.
func makeSome(p *runner.Probe, count int) []string {
	var names []string
	for range count {
		object := p.Make()
		names = append(names, object.GetName())
	}
	slices.Sort(names)
	return names
}

// mostShown bounds the objects that are compared where nobody can make few of them.
const mostShown = 10_000

// some returns the names of objects of the resource: of new ones or, where objects are only shown, of those that
// are there. Then the probe is in their namespace from now on. That others change them meanwhile is possible.
func some(p *runner.Probe, count int) []string {
	if !p.Resource.ShownOnly() {
		return makeSome(p, count)
	}
	if p.Resource.Namespaced {
		anywhere := readList(p, p.Resource.CollectionPath(""), "limit", "1")
		if len(anywhere.items) > 0 {
			p.Namespace = anywhere.items[0].GetNamespace()
		}
	}
	return shown(p)
}

// shown returns the names of all objects that are only shown, in their order.
func shown(p *runner.Probe) []string {
	var names []string
	for token := ""; ; {
		var query []string
		if token != "" {
			query = []string{"continue", token}
		}
		list := readList(p, p.Collection(), query...)
		for _, item := range list.items {
			names = append(names, item.GetName())
		}
		switch token = list.token(); {
		case len(names) > mostShown:
			runner.Leave("there are more than %d objects, and no few can be made", mostShown)
		case token == "" && len(names) == 0:
			runner.Leave("there is no object, and clients don't create any")
		case token == "":
			return names
		}
	}
}

// makeLabelled makes an object that has these labels, too, and returns its name.
func makeLabelled(p *runner.Probe, labels map[string]string) string {
	object := p.New()
	for name, value := range labels {
		runner.SetLabel(object, name, value)
	}
	p.Create(object)
	return object.GetName()
}

const (
	// eventPatience is how long an event may take that has to come.
	eventPatience = 20 * time.Second
	// watchTries is how often a check begins again whose watch has ended: servers may end one.
	watchTries = 3
	// stepLabel tells which of its changes an object has seen.
	stepLabel = "conformance.docket.dev/step"
)

// The types of events.
const (
	eventAdded    = string(watch.Added)
	eventModified = string(watch.Modified)
	eventDeleted  = string(watch.Deleted)
	eventBookmark = string(watch.Bookmark)
	eventError    = string(watch.Error)
)

// endedError ends a check whose watch has ended too early.
type endedError struct{ cause *runner.SetupError }

// Error returns the text of the cause.
func (e *endedError) Error() string { return e.cause.Error() }

// Unwrap returns the cause.
func (e *endedError) Unwrap() error { return e.cause }

// steadily runs a check again whose watch has ended before its time.
func steadily(check func(*runner.Probe)) func(*runner.Probe) {
	return func(p *runner.Probe) {
		for try := 1; ; try++ {
			err := runner.Try(func() { check(p) })
			if _, ended := errors.AsType[*endedError](err); !ended || try == watchTries {
				runner.StopOn(err)
				return
			}
		}
	}
}

// listVersion returns the resourceVersion of a list of what the probe has made.
func listVersion(p *runner.Probe) string {
	response := p.Prepare("list the objects", runner.Get(p.Collection(), "labelSelector", p.Selector()))
	value := response.Fields()
	if value == nil {
		response.Unprepared("read the list")
	}
	version, _, _ := unstructured.NestedString(value, "metadata", "resourceVersion")
	return version
}

// watchFromNow starts a watch of what the probe makes from now on. There should be nothing yet: the
// check does not depend on the resourceVersion of the list then.
func watchFromNow(p *runner.Probe) *runner.Stream {
	version := listVersion(p)
	return p.MustWatch(p.Collection(), "labelSelector", p.Selector(), "resourceVersion", version)
}

// nextThat returns the next event that matches. It fails the check if none comes in time, and what has
// been expected is the event.
func nextThat(stream *runner.Stream, match func(*runner.Event) bool, expected string) *runner.Event {
	limited, cancel := runner.Within(stream.Context, eventPatience)
	defer cancel()
	for {
		event, err := stream.Next(limited)
		switch {
		case err != nil:
			noEvent(stream, err, eventPatience, expected)
		case match(event):
			return event
		case event.Type == eventError:
			stream.Unprepared("go on with the watch, which has brought an error")
		}
	}
}

// noEvent ends a check to which a watch has brought an error instead of the event that was expected.
func noEvent(stream *runner.Stream, err error, patience time.Duration, expected string) {
	switch {
	case stream.Context.Err() != nil:
		runner.Stop(stream.Context.Err())
	case errors.Is(err, runner.ErrNoEvent):
		stream.Fail(fmt.Sprintf("it has not come within %s", patience), "%s", expected)
	case errors.Is(err, io.EOF):
		runner.Stop(&endedError{&runner.SetupError{Wanted: "go on with the watch, which has ended", Exchange: stream.Exchange()}})
	default:
		runner.Stop(fmt.Errorf("read the events of a watch: %w", err))
	}
}

// nextAbout returns the next event about one of these objects, see nextThat. Others are no business
// of a check that has not made them.
func nextAbout(stream *runner.Stream, expected string, names ...string) *runner.Event {
	return nextThat(stream, func(event *runner.Event) bool {
		return event.Type != eventBookmark && event.Type != eventError && slices.Contains(names, event.Object.GetName())
	}, expected)
}

// stepOf returns how many changes an object has seen; -1 if that can't be told.
func stepOf(object *unstructured.Unstructured) int {
	text := object.GetLabels()[stepLabel]
	if text == "" {
		return 0
	}
	step, err := strconv.Atoi(text)
	if err != nil {
		return -1
	}
	return step
}

// labelled returns a new object with a value of stepLabel.
func labelled(p *runner.Probe, step string) *unstructured.Unstructured {
	object := p.New()
	runner.SetLabel(object, stepLabel, step)
	return object
}

// sameContent compares what people write into two states of an object.
func sameContent(a, b *unstructured.Unstructured) bool {
	return maps.Equal(a.GetLabels(), b.GetLabels()) && maps.Equal(a.GetAnnotations(), b.GetAnnotations()) &&
		jsonOf(contentFields(a)) == jsonOf(contentFields(b))
}

// compareVersions returns whether a resourceVersion is later than another one, if both are numbers.
func compareVersions(version, than string) (later, known bool) {
	a, errA := strconv.ParseUint(version, 10, 64)
	b, errB := strconv.ParseUint(than, 10, 64)
	return a > b, errA == nil && errB == nil
}
