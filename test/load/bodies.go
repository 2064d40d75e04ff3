// Copyright 2026 The Docket Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"strconv"
	"time"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/docket-project/docket/internal/plane/sample"
)

const (
	// runLabel marks the objects of this program; its value is the seed.
	runLabel = "docket.dev/load"

	// sentAnnotation holds when an object was sent, in nanoseconds since 1970, always
	// with as many digits, so that a new time takes the old one's place.
	sentAnnotation = "docket.dev/load-sent"
	sentDigits     = 20

	// subjectLabel is what Kyverno's reports controller selects by, once a resource.
	subjectLabel = "audit.kyverno.io/resource.uid"

	// variants is how many different bodies of reports there are; names differ in all of them.
	variants = 32

	// uniqueVaried is the percentage of reports with messages of their own with --varied.
	uniqueVaried = 50
)

// variedResults are the numbers of results of the bodies with --varied: most reports are
// small, a few are large, and the average is 17.
func variedResults() [variants]int {
	return [variants]int{
		1, 12, 3, 6, 30, 5, 1, 20, 4, 9, 200, 2, 14, 6, 3, 8,
		22, 5, 1, 60, 4, 7, 17, 2, 10, 40, 6, 5, 26, 3, 6, 6,
	}
}

// slots are the parts of a body that differ from object to object.
type slot int

const (
	nameSlot slot = iota
	namespaceSlot
	subjectSlot
	groupSlot
	sentSlot
	slotCount
)

// token marks a slot while a body is prepared; it can't occur in a report.
func (s slot) token() string { return fmt.Sprintf("@@%d@@", int(s)) }

// piece is fixed text and the slot after it, slotCount for none.
type piece struct {
	text []byte
	next slot
}

// bodies makes the JSON of any object in a few copies of memory.
type bodies struct {
	options  *options
	prepared [][]piece
	// named are the same with messages that name the subject.
	named [][]piece
}

func newBodies(o *options) *bodies {
	b := &bodies{options: o}
	for _, object := range o.objectsFrom {
		b.prepared = append(b.prepared, prepare(object, o.seed))
	}
	if len(b.prepared) > 0 {
		b.named = b.prepared
		return b
	}
	cluster := sample.Cluster{Seed: o.seed, Now: time.Now()}
	for i := range variants {
		results := o.results
		if o.varied {
			results = variedResults()[i]
		}
		report := cluster.Report(o.kind, i, results)
		b.prepared = append(b.prepared, prepare(report, o.seed))
		nameSubject(report)
		b.named = append(b.named, prepare(report, o.seed))
	}
	return b
}

// prepare cuts a report at what differs from object to object. Owners are left out: in a
// real cluster the garbage collector would delete reports whose owner does not exist.
func prepare(report *unstructured.Unstructured, seed uint64) []piece {
	name, namespace := report.GetName(), report.GetNamespace()
	scope := scopeOf(report)
	report.SetOwnerReferences(nil)
	labels := report.GetLabels()
	if labels == nil {
		labels = map[string]string{}
	}
	labels[runLabel] = strconv.FormatUint(seed, 10)
	labels[subjectLabel] = groupSlot.token()
	report.SetLabels(labels)
	annotations := report.GetAnnotations()
	if annotations == nil {
		annotations = map[string]string{}
	}
	annotations[sentAnnotation] = sentSlot.token()
	report.SetAnnotations(annotations)

	data, err := json.Marshal(report)
	if err != nil {
		panic(fmt.Sprintf("a sample report is no JSON: %v", err)) // The sample's tests prove it is.
	}
	for _, replace := range []struct {
		old string
		by  slot
	}{
		{name, nameSlot}, {scope["uid"], nameSlot}, {scope["name"], subjectSlot}, {namespace, namespaceSlot},
	} {
		if replace.old != "" {
			data = bytes.ReplaceAll(data, []byte(`"`+replace.old+`"`), []byte(`"`+replace.by.token()+`"`))
		}
	}
	return cut(data)
}

// nameSubject makes each message of a report one that no other report has.
func nameSubject(report *unstructured.Unstructured) {
	for _, path := range [][]string{{"results"}, {"spec", "results"}} {
		results, _, _ := unstructured.NestedFieldNoCopy(report.Object, path...) // They are at one of the two.
		list, _ := results.([]any)
		for _, result := range list {
			if fields, ok := result.(map[string]any); ok {
				fields["message"] = fmt.Sprintf("%s: %v", subjectSlot.token(), fields["message"])
			}
		}
	}
}

func scopeOf(report *unstructured.Unstructured) map[string]string {
	for _, path := range [][]string{{"scope"}, {"spec", "owner"}} {
		found, ok, err := unstructured.NestedMap(report.Object, path...)
		if err != nil || !ok {
			continue
		}
		scope := map[string]string{}
		for key, value := range found {
			scope[key] = fmt.Sprint(value)
		}
		return scope
	}
	return nil
}

func cut(data []byte) []piece {
	var pieces []piece
	for {
		start, next := len(data), slotCount
		for s := range slotCount {
			if i := bytes.Index(data, []byte(s.token())); i >= 0 && i < start {
				start, next = i, s
			}
		}
		pieces = append(pieces, piece{data[:start], next})
		if next == slotCount {
			return pieces
		}
		data = data[start+len(next.token()):]
	}
}

// body appends the JSON of object i to buffer.
func (b *bodies) body(i int, sent time.Time, buffer []byte) []byte {
	return b.bodyLike(i, i, sent, buffer)
}

// bodyLike appends the JSON of object i, with the results that another object begins with.
func (b *bodies) bodyLike(i, other int, sent time.Time, buffer []byte) []byte {
	prepared := b.prepared
	if i%100 < b.options.unique {
		prepared = b.named
	}
	for _, p := range prepared[other%len(prepared)] {
		buffer = append(buffer, p.text...)
		switch p.next {
		case nameSlot:
			buffer = append(buffer, b.name(i)...)
		case namespaceSlot:
			buffer = append(buffer, b.namespace(i)...)
		case subjectSlot:
			buffer = fmt.Appendf(buffer, "load-%08d", i)
		case groupSlot:
			buffer = append(buffer, b.group(i)...)
		case sentSlot:
			buffer = appendSent(buffer, sent)
		case slotCount:
		}
	}
	return buffer
}

func appendSent(buffer []byte, sent time.Time) []byte {
	return fmt.Appendf(buffer, "%0*d", sentDigits, sent.UnixNano())
}

// name of object i looks like the UID that Kyverno gives its reports as name.
func (b *bodies) name(i int) string {
	const oddBits = 0x9e3779b97f4a7c15 // Spreads neighbours over the key space, as UIDs are.
	spread := (uint64(i) + 1) * oddBits
	return fmt.Sprintf("%08x-%04x-4%03x-8%03x-%012x",
		spread>>32, spread>>16&0xffff, spread&0xfff, b.options.seed&0xfff, i)
}

// group is the label value of object i; --selector-size objects in a row share it.
func (b *bodies) group(i int) string {
	return "group-" + b.name(i/b.options.groupSize)
}

// namespace of object i; objects of a group share it.
func (b *bodies) namespace(i int) string {
	return b.namespaceName(i / b.options.groupSize % b.options.namespaces)
}

func (b *bodies) namespaceName(n int) string {
	return fmt.Sprintf("load-%d-%03d", b.options.seed, n)
}

// collection is the path of all objects of the kind, in one namespace unless empty.
func (b *bodies) collection(namespace string) string {
	if namespace == "" || !b.options.kind.Namespaced {
		return "/apis/" + b.options.kind.APIVersion + "/" + b.options.kind.Resource
	}
	return "/apis/" + b.options.kind.APIVersion + "/namespaces/" + namespace + "/" + b.options.kind.Resource
}

// path of object i.
func (b *bodies) path(i int) string {
	return b.collection(b.namespace(i)) + "/" + b.name(i)
}

// sentKey begins the annotation in an object's JSON. In managedFields the same name
// has a prefix, so that this is found once an object.
func sentKey() []byte { return []byte(`"` + sentAnnotation + `":"`) }

// setSent writes a time over the one in an object's JSON.
func setSent(object []byte, sent time.Time) error {
	start := bytes.Index(object, sentKey())
	if start < 0 || start+len(sentKey())+sentDigits > len(object) {
		return wrongAnswer("an object without the annotation %s: %.200s", sentAnnotation, object)
	}
	start += len(sentKey())
	appendSent(object[start:start], sent)
	return nil
}

// sentOf reads the annotation's number from an object's or event's JSON.
func sentOf(object []byte) (int64, bool) {
	_, rest, found := bytes.Cut(object, sentKey())
	if !found || len(rest) < sentDigits {
		return 0, false
	}
	nanos, err := strconv.ParseInt(string(rest[:sentDigits]), 10, 64)
	return nanos, err == nil
}

// countObjects counts our objects in a list's JSON.
func countObjects(list []byte) int { return bytes.Count(list, sentKey()) }

// continueOf returns the continue token of a list's JSON. Depending on the server it
// stands before the items or after them.
func continueOf(list []byte) string {
	const key = `"continue":"`
	start := bytes.LastIndex(list, []byte(key))
	if start < 0 {
		return ""
	}
	token, _, _ := bytes.Cut(list[start+len(key):], []byte(`"`))
	return string(token)
}

// setRevision returns a body with a resourceVersion.
func setRevision(body []byte, revision string) []byte {
	const metadata = `"metadata":{`
	return bytes.Replace(body, []byte(metadata), fmt.Appendf(nil, `%s"resourceVersion":%q,`, metadata, revision), 1)
}

// revisionOf returns the resourceVersion of an object, or of a list of one item or none.
func revisionOf(answer []byte) (string, error) {
	var parsed struct {
		Metadata struct {
			ResourceVersion string `json:"resourceVersion"`
		} `json:"metadata"`
	}
	if err := json.Unmarshal(answer, &parsed); err != nil {
		return "", fmt.Errorf("read an answer: %w", err)
	}
	return parsed.Metadata.ResourceVersion, nil
}
