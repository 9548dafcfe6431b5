// SPDX-License-Identifier: Apache-2.0
// Empty: the precompiled header of the torch part needs a target with a source of its own.
