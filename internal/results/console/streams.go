// Copyright 2026 The Docket Authors.
// SPDX-License-Identifier: Apache-2.0

package console

import (
	"fmt"
	"net/http"
	"sync"

	authenticationv1 "k8s.io/api/authentication/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// mostStreams bounds the pages that listen at the same time, and mostStreamsOfPerson those of one person.
const mostStreams, mostStreamsOfPerson = 200, 10

// streams are the pages that listen for changes.
type streams struct {
	mu  sync.Mutex
	all int
	of  map[string]int
}

// enter takes a place for a page of a person. If there is none, it says why.
func (s *streams) enter(person string) (full string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	switch {
	case s.all >= mostStreams:
		return fmt.Sprintf("%d pages listen for changes already", mostStreams)
	case s.of[person] >= mostStreamsOfPerson:
		return fmt.Sprintf("%d of your pages listen for changes already: close one", mostStreamsOfPerson)
	case s.of == nil:
		s.of = map[string]int{}
	}
	s.all++
	s.of[person]++
	return ""
}

func (s *streams) leave(person string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.all--
	if s.of[person]--; s.of[person] == 0 {
		delete(s.of, person)
	}
}

// person identifies who asks; a console for one browser has one person. The cluster says whose a token is, as people
// get a new one whenever they want. If it does not, the token itself counts.
func (s *site) person(r *http.Request) string {
	identity, _ := r.Context().Value(identityKey{}).(http.Header)
	token := identity.Get(authorization)
	if token == "" {
		return identity.Get(impersonateUser)
	}
	review, err := s.reviews.SelfSubjectReviews().Create(r.Context(), &authenticationv1.SelfSubjectReview{}, metav1.CreateOptions{})
	if err != nil || review.Status.UserInfo.Username == "" {
		return token
	}
	return review.Status.UserInfo.Username
}
