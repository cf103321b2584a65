// How this program was started.
#pragma once

#include "tensor/kernels/types.h"

namespace tessera::nn {

/// How many processes a launcher started together with this one, as the environment tells: mpirun of
/// Open MPI, of MPICH and of what derives from it, or Slurm's srun. 1 where none did, in a batch
/// script of Slurm too, and where a variable holds no number of processes.
///
/// MPI itself is not needed to know it: a program built without MPI can refuse to run N times.
///
/// Source: OMPI_COMM_WORLD_SIZE (mpirun(1) of Open MPI); PMI_SIZE (MPICH's Hydra, Intel MPI,
/// MVAPICH, ParaStation); SLURM_STEP_NUM_TASKS and SLURM_STEP_ID (srun(1)).
index_t launched_processes();

}  // namespace tessera::nn
