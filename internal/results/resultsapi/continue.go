// Copyright 2026 The Docket Authors.
// SPDX-License-Identifier: Apache-2.0

package resultsapi

import (
	"encoding/base64"
	"encoding/json"

	apierrors "k8s.io/apimachinery/pkg/api/errors"

	"github.com/docket-project/docket/internal/store/engine"
)

// place is where a page of results goes on: behind a result. It is what a continue token holds.
type place struct {
	// Version of the token: tokenVersion.
	Version int `json:"v"`
	// Revision of the first page, and whether anything was written since.
	Revision engine.Revision `json:"rv"`
	Changed  bool            `json:"changed,omitempty"`
	// Namespace, Kind and Report have the result, Name is its name.
	Namespace string `json:"ns,omitempty"`
	Kind      string `json:"kind,omitempty"`
	Report    string `json:"report,omitempty"`
	Name      string `json:"name"`
}

const tokenVersion = 1

func (p place) report() engine.ReportPlace {
	return engine.ReportPlace{Namespace: p.Namespace, Kind: p.Kind, Name: p.Report}
}

// token returns the place as text for clients, who can't read it.
func (p place) token() (string, error) {
	p.Version = tokenVersion
	text, err := json.Marshal(p)
	return base64.RawURLEncoding.EncodeToString(text), err
}

// placeOf returns the place of a token; that of "" is before everything.
func placeOf(token string) (place, error) {
	if token == "" {
		return place{}, nil
	}
	var p place
	text, err := base64.RawURLEncoding.DecodeString(token)
	if err == nil {
		err = json.Unmarshal(text, &p)
	}
	switch {
	case err != nil, p.Name == "", p.Revision <= 0:
		return place{}, apierrors.NewBadRequest("continue: this is no token of a list of this resource; begin without one")
	case p.Version != tokenVersion:
		return place{}, apierrors.NewResourceExpired("continue: the token is of another version of the server; begin without one")
	}
	return p, nil
}
