// Copyright 2026 The Docket Authors.
// SPDX-License-Identifier: Apache-2.0

package gateway

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"strings"

	"k8s.io/client-go/rest"

	"github.com/docket-project/docket/internal/kit/atomicfile"
	"github.com/docket-project/docket/internal/plane/statedir"
)

// clusterFile records the cluster with which a state folder is used: its authority and its
// address, one per line.
const clusterFile = "cluster"

// sameCluster refuses a cluster other than the one with which the folder was used before.
// The objects of registered servers belong to namespaces of that cluster: compared with
// those of another one, most would look left over and be deleted.
func sameCluster(held *statedir.Folder, config *rest.Config) error {
	now, err := clusterIdentity(config)
	if err != nil {
		return err
	}
	path := held.Path(clusterFile)
	data, err := os.ReadFile(path)
	if errors.Is(err, fs.ErrNotExist) {
		return atomicfile.Write(path, []byte(strings.Join(now[:], "\n")+"\n"))
	}
	if err != nil {
		return fmt.Errorf("--dir: %w", err)
	}
	before := strings.Fields(string(data))
	if len(before) == len(now) {
		compared := 1 // The address, which may be that of a tunnel, only if there is no
		if before[0] != noAuthority && now[0] != noAuthority {
			compared = 0 // authority: that one signs for one cluster.
		}
		if before[compared] == now[compared] {
			return nil
		}
	}
	return fmt.Errorf("--kubeconfig, --context: %s was used with another cluster (%s): give this one (%s) another --dir; if it is the same cluster with a new authority or address, remove %s",
		held.Dir, strings.Join(before, " "), now[1], path)
}

// noAuthority stands for the authorities of the machine.
const noAuthority = "-"

func clusterIdentity(config *rest.Config) ([2]string, error) {
	loaded := rest.CopyConfig(config)
	if err := rest.LoadTLSFiles(loaded); err != nil {
		return [2]string{}, fmt.Errorf("--kubeconfig: %w", err)
	}
	authority := noAuthority
	if len(loaded.CAData) > 0 {
		sum := sha256.Sum256(loaded.CAData)
		authority = "sha256:" + hex.EncodeToString(sum[:])
	}
	return [2]string{authority, strings.TrimSuffix(loaded.Host, "/")}, nil
}
