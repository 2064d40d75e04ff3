// Copyright 2026 The Docket Authors.
// SPDX-License-Identifier: Apache-2.0

// Package deploy holds the manifests with which Docket is installed. Go code gets those
// that register a server in a cluster: internal/server/bootstrap prints them.
package deploy

import (
	"embed"
	"io/fs"
)

//go:embed base/namespace.yaml base/serviceaccount.yaml base/rbac.yaml base/service.yaml base/apiservices.yaml
var base embed.FS

// Registration is the files of base that register a server. Left out are those that run
// one, and kustomization.yaml.
func Registration() fs.FS { return base }
