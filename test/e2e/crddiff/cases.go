// Copyright 2026 The Docket Authors.
// SPDX-License-Identifier: Apache-2.0

package crddiff

import (
	"maps"
	"net/http"
	"net/url"
	"slices"
)

// The media types of bodies.
const (
	typeJSON      = "application/json"
	typeYAML      = "application/yaml"
	typeJSONPatch = "application/json-patch+json"
	typeMerge     = "application/merge-patch+json"
	typeStrategic = "application/strategic-merge-patch+json"
	typeApply     = "application/apply-patch+yaml"
)

// Step is a request. Its texts have marks for what only the server knows.
type Step struct {
	Method string
	// The path names the object or, for a Collection, all objects of the kind in the namespace; Suffix follows.
	Collection bool
	Suffix     string
	Query      url.Values
	Header     map[string]string
	// Body is nil if Raw is the body, which may be no JSON at all.
	Body *Value
	Raw  string
}

// Case is a number of requests about one object, which has a name of its own each time that the
// case is run.
type Case struct {
	Kind         Kind
	Seed, Number uint64
	Steps        []Step
}

// with returns the step with parameters, given as pairs of names and values.
func (s Step) with(pairs ...string) Step {
	s.Query = maps.Clone(s.Query)
	if s.Query == nil {
		s.Query = url.Values{}
	}
	for i := 0; i+1 < len(pairs); i += 2 {
		s.Query.Add(pairs[i], pairs[i+1])
	}
	return s
}

// header returns the step with a header field.
func (s Step) header(name, value string) Step {
	s.Header = maps.Clone(s.Header)
	if s.Header == nil {
		s.Header = map[string]string{}
	}
	s.Header[name] = value
	return s
}

func (s Step) at(suffix string) Step {
	s.Suffix = suffix
	return s
}

// clone returns a copy that shares nothing.
func (s Step) clone() Step {
	s.Query, s.Header, s.Body = maps.Clone(s.Query), maps.Clone(s.Header), s.Body.Clone()
	for name, values := range s.Query {
		s.Query[name] = slices.Clone(values)
	}
	return s
}

func get() Step { return Step{Method: http.MethodGet} }
func list() Step {
	return Step{Method: http.MethodGet, Collection: true}.with("labelSelector", caseLabel+"="+nameMark)
}

func post(body *Value) Step {
	return Step{Method: http.MethodPost, Collection: true, Body: body}.header("Content-Type", typeJSON)
}

func put(body *Value) Step {
	return Step{Method: http.MethodPut, Body: body}.header("Content-Type", typeJSON)
}

func patch(mediaType string, body *Value) Step {
	return Step{Method: http.MethodPatch, Body: body}.header("Content-Type", mediaType)
}

func remove(options *Value) Step {
	s := Step{Method: http.MethodDelete, Body: options}
	if options != nil {
		s = s.header("Content-Type", typeJSON)
	}
	return s
}

// NewCase makes the case of a number. The same seed, number and kind make the same case.
func NewCase(kind Kind, seed, number uint64) Case {
	g := newGenerator(seed, number)
	c := Case{Kind: kind, Seed: seed, Number: number}
	stories := []struct {
		weight int
		tell   func(*generator, Kind) []Step
	}{
		{10, createStory}, {6, updateStory}, {5, jsonPatchStory}, {5, mergeStory}, {1, strategicStory}, {7, applyStory},
		{4, deleteStory}, {4, readStory}, {4, envelopeStory}, {2, generateNameStory}, {2, subresourceStory}, {1, collectionStory},
	}
	total := 0
	for _, s := range stories {
		total += s.weight
	}
	chosen := g.IntN(total)
	for _, s := range stories {
		if chosen -= s.weight; chosen < 0 {
			c.Steps = s.tell(g, kind)
			break
		}
	}
	return c
}
