// Copyright 2026 The Docket Authors.
// SPDX-License-Identifier: Apache-2.0

package base

import (
	"fmt"
	"strings"
)

// publicRekor is the log that Kyverno's schema has as the default.
const publicRekor = "https://rekor.sigstore.dev"

// ConfinedKeys refuses keys that are read from elsewhere: the library that does it has clients of its
// own, for the cluster, for files of the controller, for any address. A policy in a namespace has its
// keys and certificates in itself.
func ConfinedKeys(spec any) error {
	switch typed := spec.(type) {
	case []any:
		for _, item := range typed {
			if err := ConfinedKeys(item); err != nil {
				return err
			}
		}
	case map[string]any:
		for name, value := range typed {
			if err := confinedKey(name, value); err != nil {
				return err
			}
			if err := ConfinedKeys(value); err != nil {
				return err
			}
		}
	}
	return nil
}

func confinedKey(name string, value any) error {
	refuse := func() error {
		return fmt.Errorf("%s: a namespaced policy has its keys and certificates in itself, and asks no service for them: use PEM, or a policy of the cluster", name)
	}
	switch name {
	case "allowInsecureRegistry":
		if value == true {
			return errInsecure
		}
	case "kms", "secret", "tuf":
		if value != nil && value != "" {
			return refuse()
		}
	case "publicKeys":
		if text, ok := value.(string); ok && text != "" && !strings.HasPrefix(strings.TrimSpace(text), "-----BEGIN ") {
			return refuse()
		}
	case "ctlog", "rekor":
		if block, ok := value.(map[string]any); ok && block["url"] != nil && block["url"] != "" && block["url"] != publicRekor {
			return refuse()
		}
	}
	return nil
}
